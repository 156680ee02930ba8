#include "coherence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace {

constexpr int kBytes = 8192, kChanged = 100, kAt = 50;   // the change lies within a page that the other rank has read

class File {
 public:
  explicit File(const std::string& path, int flags = 0) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool good() const { return fd_ >= 0; }
  bool fill(char value, int at, int bytes) {
    char data[kBytes];
    std::memset(data, value, sizeof data);
    return ::pwrite(fd_, data, static_cast<size_t>(bytes), at) == bytes;
  }
  // The byte in the middle of the change; 0 and errno where it can't be read.
  char read_byte() {
    char data[kChanged] = "";
    return ::pread(fd_, data, sizeof data, kAt) == kChanged ? data[kChanged / 2] : '\0';
  }
  void cache() {
    char data[kBytes];
    if (::pread(fd_, data, sizeof data, 0) < 0) return;
  }
  bool lock(short type) {
    struct flock request = range(type);
    return ::fcntl(fd_, F_OFD_SETLKW, &request) == 0;
  }
  bool is_locked_by_another() {
    struct flock query = range(F_WRLCK);
    return ::fcntl(fd_, F_OFD_GETLK, &query) == 0 && query.l_type != F_UNLCK;
  }
  bool go_direct() {
    const int flags = ::fcntl(fd_, F_GETFL);
    return flags >= 0 && ::fcntl(fd_, F_SETFL, flags | O_DIRECT) == 0;
  }
  long long size() {
    struct statx status {};
    return ::statx(fd_, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &status) == 0 ? static_cast<long long>(status.stx_size) : -1;
  }

 private:
  static struct flock range(short type) {
    struct flock whole {};
    whole.l_type = type;
    whole.l_whence = SEEK_SET;
    whole.l_len = kBytes;
    return whole;
  }

  const int fd_;
};

}  // namespace

Visibility measure_visibility(const std::string& path, bool first, bool last, const std::function<void()>& barrier) {
  Visibility visibility;
  if (first) {
    File made(path, O_CREAT | O_EXCL);
    made.fill('a', 0, kBytes);
  }
  barrier();
  {
    File file(path);
    visibility.failed = file.good() ? 0 : 1;
    if (last) file.cache();
    barrier();
    if (first) file.fill('b', kAt, kChanged);
    barrier();
    if (last) visibility.at_once = file.read_byte() == 'b' ? 1 : 0;
    barrier();
    if (first && file.lock(F_WRLCK)) file.fill('c', kAt, kChanged), file.lock(F_UNLCK);
    barrier();
    if (last && file.lock(F_RDLCK)) visibility.after_lock = file.read_byte() == 'c' ? 1 : 0, file.lock(F_UNLCK);
    barrier();
    if (first) file.lock(F_WRLCK);
    barrier();
    if (last) visibility.locks = file.is_locked_by_another() ? 1 : 0;
    barrier();
    if (first) file.lock(F_UNLCK), file.fill('d', kAt, kChanged);
  }
  barrier();   // closed by all
  File file(path);
  if (last) visibility.after_open = file.read_byte() == 'd' ? 1 : 0;
  const bool direct = file.go_direct();
  barrier();
  const bool written = first && direct && file.fill('e', kAt, kChanged);
  if (first && !written) file.fill('f', kAt, kChanged);   // another byte: the last rank is to know that it was refused
  barrier();
  const char found = last ? file.read_byte() : '\0';
  visibility.direct = !direct || found == '\0' || found == 'f' ? 2 : found == 'e' ? 1 : 0;
  barrier();
  if (first) file.fill('g', kBytes, kChanged);
  barrier();
  if (last) visibility.size = file.size() == kBytes + kChanged ? 1 : 0;
  barrier();
  if (first) ::unlink(path.c_str());
  return visibility;
}

const char* when_visible(const Visibility& visibility) {
  return visibility.at_once ? "at once" : visibility.after_lock ? "after a lock" : visibility.after_open ? "after close and open" : "not at all";
}
