// The table of mounts (src/storage/posix/mounts.cpp): what is found in any text has the number that was looked for in its line.
#include <sys/sysmacros.h>

#include "fuzz.h"
#include "storage/posix/mounts.h"

namespace mercutio::fuzz {

Input example(Random& random) {
  static const char* const kWords[] = {"36 35 0:44 / /mnt rw - nfs4 server:/ rw,vers=4.2\n", "0:44", " ", " - ", "\n", "\\040", "\\", "\\9", "/mnt", "fuse.x", "1 2 0:44 / ", ",", "rw"};
  std::string text;
  for (i64 i = pick(random, 0, 12); i > 0; --i) text += kWords[pick(random, 0, 12)];
  return input_of(text);
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto mount = posix::find_mount(text, makedev(0, 44));
  if (!mount) return 0;
  FUZZ_CHECK(text.find(" 0:44 ") != std::string::npos, "found what isn't there");
  FUZZ_CHECK(text.find(" - ") != std::string::npos, "found a line that is cut short");
  FUZZ_CHECK(mount->type.find_first_of(" \n") == std::string::npos, "a type of two words: " + mount->type);
  FUZZ_CHECK(mount->options.find('\n') == std::string::npos, "options of two lines");
  FUZZ_CHECK(mount->options.empty() || mount->has_option(mount->options), "an option that isn't its own");
  return 0;
}
