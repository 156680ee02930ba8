// Lustre's striping of a file as the extended attribute "lustre.lov", without liblustreapi.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "storage/storage.h"

namespace mercutio::posix {

inline constexpr long kLustreMagic = 0x0BD00BD0;

// The layout in the bytes of "lustre.lov" or "trusted.lov"; nothing if they aren't understood. Of a file in components the stripes of
// the whole are those of the last one that has objects.
std::optional<Layout> parse_lov(ConstBytes attribute);

// The attribute that asks for `layout` (version 1). Zero fields ask for the file system's default.
std::vector<std::byte> make_lov(const Layout& layout);

Layout lustre_layout(int fd);  // zeros if there is none

// Opens with O_CREAT | O_EXCL and sets the striping before the file gets its objects. `open` gets the flags and returns the
// descriptor or -1 (errno). A striping that the file system refuses is ignored: the file has the default.
int create_striped(const std::function<int(int flags)>& open, int flags, const Layout& layout);

}  // namespace mercutio::posix
