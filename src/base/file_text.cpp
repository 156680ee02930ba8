#include "base/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace mercutio {

Result<std::string> text_of_file(const std::string& path) {
  constexpr std::size_t kLeastBytes = 4096;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return error_from_errno("open", errno);
  struct stat state {};
  const bool sized = ::fstat(file, &state) == 0 && state.st_size > 0;
  std::string text(sized ? static_cast<std::size_t>(state.st_size) + 1 : kLeastBytes, '\0');   // the last byte is for its end
  std::size_t held = 0;
  ssize_t got = 0;
  do {
    if (held == text.size()) text.resize(2 * held);
    got = ::read(file, text.data() + held, text.size() - held);
    held += got > 0 ? static_cast<std::size_t>(got) : 0;
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int failed = got < 0 ? errno : 0;
  ::close(file);
  if (failed != 0) return error_from_errno("read", failed);
  text.resize(held);
  return text;
}

}  // namespace mercutio
