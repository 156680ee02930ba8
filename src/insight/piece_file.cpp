#include "insight/piece_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/random.h"

namespace mercutio {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~Descriptor() {
    if (number_ < 0) return;
    ::flock(number_, LOCK_UN);   // closing does not, as long as it is mapped
    ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// 0, or errno.
int lock(int file) {
  while (::flock(file, LOCK_EX) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Whoever else may write there could lead this process to write what is the user's.
Result<Descriptor> open_own_folder(const std::string& path) {
  struct stat state {};
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.number() < 0 && (errno == ELOOP || errno == ENOTDIR) && ::lstat(path.c_str(), &state) == 0) {
    return Error{ErrorClass::kIo, "the directory for the ranks' pieces is a " + std::string(S_ISLNK(state.st_mode) ? "symbolic link" : "file")};
  }
  const bool there = folder.number() >= 0 ? ::fstat(folder.number(), &state) == 0 : errno == EACCES && ::lstat(path.c_str(), &state) == 0;
  if (there && state.st_uid != ::geteuid()) return Error{ErrorClass::kIo, "the directory for the ranks' pieces belongs to another user"};
  if (folder.number() < 0) return error_from_errno("open", errno);
  return folder;
}

// The node's file, locked. A job that ends may remove it meanwhile. `path` becomes that of a file of its own where locks are missing.
Result<Descriptor> open_locked(std::string& path) {
  constexpr int kAttempts = 100;
  const std::size_t slash = path.rfind('/');
  MERCUTIO_LET(const Descriptor folder, open_own_folder(slash == std::string::npos ? "." : path.substr(0, slash)));
  const std::string own = path.substr(0, path.rfind('.')) + "-" + std::to_string(random_number() % 1000000000) + path.substr(path.rfind('.'));
  for (int i = 0; i < kAttempts; ++i) {
    const int once = path == own ? O_EXCL : 0;
    Descriptor file(::openat(folder.number(), path.c_str() + (slash + 1), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | once, 0666));
    if (file.number() < 0) return error_from_errno("open", errno);
    struct stat state {};
    if (::fstat(file.number(), &state) != 0) return error_from_errno("fstat", errno);
    if (!S_ISREG(state.st_mode) || state.st_uid != ::geteuid() || state.st_nlink > 1) {
      return Error{ErrorClass::kIo, "the file of a node's pieces is not the user's own"};
    }
    if (path == own) return file;
    if (lock(file.number()) != 0) {
      path = own;
      continue;
    }
    if (::fstat(file.number(), &state) == 0 && state.st_nlink > 0) return file;
  }
  return Error{ErrorClass::kIo, "the file of a node's pieces is removed again and again"};
}

}  // namespace

Result<MappedPiece> map_piece(const std::string& path, i64 bytes) {
  const i64 page = std::max<i64>(4096, ::sysconf(_SC_PAGESIZE));
  MappedPiece piece{nullptr, (bytes + page - 1) / page * page, path};
  const auto size = static_cast<std::size_t>(piece.bytes);
  void* base = MAP_FAILED;
  if (path.empty()) {
    base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  } else {
    MERCUTIO_LET(const Descriptor file, open_locked(piece.path));
    struct stat state {};
    if (::fstat(file.number(), &state) != 0) return error_from_errno("fstat", errno);
    const off_t end = (state.st_size + page - 1) / page * page;
    if (const int failed = ::posix_fallocate(file.number(), end, piece.bytes); failed != 0) {
      if (end == 0) ::unlink(piece.path.c_str());
      (void)!::ftruncate(file.number(), state.st_size);
      return error_from_errno("posix_fallocate", failed);
    }
    base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), end);
  }
  if (base == MAP_FAILED) return error_from_errno("mmap", errno);
  piece.base = static_cast<std::byte*>(base);
  return piece;
}

}  // namespace mercutio
