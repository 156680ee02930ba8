// Where started transfers of the posix driver run, and the descriptor they share with the file.
#pragma once

#include <memory>
#include <vector>

#include "storage/storage.h"
#include "storage/transfer_pool.h"

namespace mercutio::posix {

// A descriptor, closed once and after the last transfer on it.
class OpenFd {
 public:
  explicit OpenFd(int fd) : fd_(fd) {}
  ~OpenFd();
  OpenFd(const OpenFd&) = delete;
  OpenFd& operator=(const OpenFd&) = delete;
  int get() const { return fd_; }
  // Whether transfers go by O_DIRECT. Set before the first one.
  bool direct() const { return direct_; }
  void set_direct(bool direct) { direct_ = direct; }
  void begin() { transfers_.begin(); }
  void end() { transfers_.end(); }
  Status close();  // waits for the transfers

 private:
  int fd_;
  bool direct_ = false;
  TransferCount transfers_;
};

class AsyncQueue {
 public:
  virtual ~AsyncQueue() = default;  // waits for what runs
  virtual const char* name() const = 0;  // "threads", "io_uring": as the hint that asks for it
  virtual std::unique_ptr<Transfer> start(std::shared_ptr<OpenFd> fd, Direction direction,
                                          std::vector<IoPiece> pieces) = 0;
};

std::shared_ptr<AsyncQueue> make_thread_queue(std::shared_ptr<TransferPool> pool);

// One io_uring for the process; null where the kernel has or allows none, or the library was built without. Runs of one
// transfer overlap: when end of file cuts one short, later ones may have been read all the same. After a fork the child
// runs its transfers at once.
std::shared_ptr<AsyncQueue> make_uring_queue();

}  // namespace mercutio::posix
