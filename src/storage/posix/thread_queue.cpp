// The descriptor that transfers share, and the pool of threads as a queue for it.
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/attempt.h"
#include "storage/posix/async_queue.h"
#include "storage/posix/direct_read.h"
#include "storage/posix/transfer.h"

namespace mercutio::posix {

OpenFd::~OpenFd() {
  if (fd_ >= 0) ::close(fd_);
}

Status OpenFd::close() {
  transfers_.wait();
  if (fd_ < 0) return Error{ErrorClass::kFile, "the file is closed already", EBADF};
  const int fd = std::exchange(fd_, -1);
  // Linux gives the descriptor back whatever close returns: never twice.
  return ::close(fd) == 0 ? ok_status() : Status(error_from_errno("close", errno));
}

namespace {

class ThreadQueue final : public AsyncQueue {
 public:
  explicit ThreadQueue(std::shared_ptr<TransferPool> pool) : pool_(std::move(pool)) {}
  const char* name() const override { return "threads"; }

  std::unique_ptr<Transfer> start(std::shared_ptr<OpenFd> fd, Direction direction, std::vector<IoPiece> pieces) override {
    return pool_->start([running = OpenFd::begin(fd), fd, direction, pieces = std::move(pieces)] {
      const DirectRead reading(fd->direct() && direction == Direction::kRead);
      return transfer(fd->get(), direction, pieces);
    });
  }

 private:
  const std::shared_ptr<TransferPool> pool_;
};

}  // namespace

std::shared_ptr<AsyncQueue> make_thread_queue(std::shared_ptr<TransferPool> pool) {
  return std::make_shared<ThreadQueue>(std::move(pool));
}

}  // namespace mercutio::posix
