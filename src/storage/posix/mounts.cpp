#include "storage/posix/mounts.h"

#include <sys/sysmacros.h>


#include "base/file_text.h"

namespace mercutio::posix {
namespace {

// Takes the next word, up to a blank; "" at the end of the line.
std::string_view take_word(std::string_view& line) {
  const size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

// Blanks and the like are written as a backslash and three octal digits.
std::string unescaped(std::string_view word) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const bool escape = word[i] == '\\' && i + 3 < word.size() && is_octal(word[i + 1]) && is_octal(word[i + 2]) && is_octal(word[i + 3]);
    if (!escape) {
      out += word[i];
      continue;
    }
    out += static_cast<char>((word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0'));
    i += 3;
  }
  return out;
}

// "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
std::optional<Mount> mount_in(std::string_view line, std::string_view device) {
  take_word(line);   // the mount's number
  take_word(line);   // its parent's
  if (take_word(line) != device) return std::nullopt;
  take_word(line);   // the root of the mount
  Mount mount;
  mount.point = unescaped(take_word(line));
  const size_t separator = line.find(" - ");
  if (separator == std::string_view::npos) return std::nullopt;
  line.remove_prefix(separator + 3);
  mount.type = take_word(line);
  const std::string source = unescaped(take_word(line));
  const size_t mark = source.find('#');
  if (mount.type == "fuse" && mark != std::string::npos) mount.type += "." + source.substr(0, mark);
  mount.options = line;
  return mount;
}

}  // namespace

bool Mount::has_option(std::string_view option) const {
  return ("," + options + ",").find("," + std::string(option) + ",") != std::string::npos;
}

std::optional<Mount> find_mount(std::string_view mountinfo, dev_t device) {
  const std::string wanted = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  std::optional<Mount> found;
  while (!mountinfo.empty()) {
    const size_t end = mountinfo.find('\n');
    if (auto mount = mount_in(mountinfo.substr(0, end), wanted)) found = std::move(mount);
    mountinfo.remove_prefix(end == std::string_view::npos ? mountinfo.size() : end + 1);
  }
  return found;
}

std::optional<Mount> mount_of(dev_t device) {
  const auto text = text_of_file("/proc/self/mountinfo");
  return text ? find_mount(*text, device) : std::nullopt;
}

}  // namespace mercutio::posix
