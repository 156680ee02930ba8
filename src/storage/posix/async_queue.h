// Runs the started transfers of the posix driver, on a descriptor that they share with the file.
#pragma once

#include <memory>
#include <vector>

#include "storage/storage.h"
#include "storage/transfer_pool.h"

namespace mercutio::posix {

// A descriptor that is closed once, after the last transfer on it.
class OpenFd {
 public:
  explicit OpenFd(int fd) : fd_(fd) {}
  ~OpenFd();
  OpenFd(const OpenFd&) = delete;
  OpenFd& operator=(const OpenFd&) = delete;
  int get() const { return fd_; }
  // Whether transfers use O_DIRECT. Set before the first one.
  bool direct() const { return direct_; }
  void set_direct(bool direct) { direct_ = direct; }
  static TransferCount::Running begin(const std::shared_ptr<OpenFd>& fd) { return TransferCount::begin({fd, &fd->transfers_}); }
  void wait_for_transfers() { transfers_.wait(); }
  Status close();  // waits for the transfers

 private:
  int fd_;
  bool direct_ = false;
  TransferCount transfers_;
};

class AsyncQueue {
 public:
  virtual ~AsyncQueue() = default;  // waits for running transfers
  virtual const char* name() const = 0;  // "threads", "io_uring": the value of the hint
  virtual std::unique_ptr<Transfer> start(std::shared_ptr<OpenFd> fd, Direction direction,
                                          std::vector<IoPiece> pieces) = 0;
};

std::shared_ptr<AsyncQueue> make_thread_queue(std::shared_ptr<TransferPool> pool);

// One io_uring for the process; null if the kernel lacks or forbids it, or the library was built without it. The runs of a transfer
// overlap: if end of file cuts one short, later ones may have been read nevertheless. After a fork the child runs its transfers
// synchronously.
std::shared_ptr<AsyncQueue> make_uring_queue();

}  // namespace mercutio::posix
