// Lustre's layout of a file as the extended attribute "lustre.lov".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/drivers.h"
#include "storage/storage.h"

namespace mercutio::posix {

inline constexpr long kLustreMagic = 0x0BD00BD0;

// Parses the value of "lustre.lov" or "trusted.lov"; nothing if it has an unknown format. The stripes of a file with components are
// those of the last component that has objects.
std::optional<Layout> parse_lov(ConstBytes attribute);

// The attribute value that requests `layout`: version 1, version 3 if it names a pool or servers, composite if it has several
// components. Zero fields request the file system's default.
std::vector<std::byte> make_lov(const Layout& layout);

Layout lustre_layout(int fd);  // zeros if there is none

// Whether the folder was configured to give new files more than one stripe.
bool gives_several_stripes(const std::string& folder);
bool gives_several_stripes(ConstBytes attribute);   // of the folder

// Opens with O_CREAT | O_EXCL and sets the layout before the file gets its objects, through Lustre's library if it is installed and
// the path is known. Returns a descriptor, or -1 and errno. If the file system rejects the layout, the file gets the default.
int create_striped(const OpenCalls& calls, int flags, int permissions, const Layout& layout);

}  // namespace mercutio::posix
