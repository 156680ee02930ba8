// Lustre's layout of a file as the extended attribute "lustre.lov".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/drivers.h"
#include "storage/storage.h"

namespace mercutio::posix {

inline constexpr long kLustreMagic = 0x0BD00BD0;

// The layout in the bytes of "lustre.lov" or "trusted.lov"; nothing if they aren't understood. Of a file in components the stripes of
// the whole are those of the last one that has objects.
std::optional<Layout> parse_lov(ConstBytes attribute);

// The attribute that asks for `layout`: version 1, 3 where it names a pool or servers, composite where it has several components. Zero fields
// ask for the file system's default.
std::vector<std::byte> make_lov(const Layout& layout);

Layout lustre_layout(int fd);  // zeros if there is none

// New files of the folder get more than one stripe, as somebody has said for it.
bool gives_several_stripes(const std::string& folder);

// Opens with O_CREAT | O_EXCL and sets the layout before the file gets its objects, by Lustre's library where it is installed and the path is
// known. A descriptor, or -1 and errno. A layout that the file system refuses is ignored: the file has the default.
int create_striped(const OpenCalls& calls, int flags, int permissions, const Layout& layout);

}  // namespace mercutio::posix
