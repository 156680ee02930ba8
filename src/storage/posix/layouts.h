// Layouts of the file systems that tell them in a few numbers: CephFS and BeeGFS. Lustre's are in lustre.h.
#pragma once

#include <string>
#include <string_view>

#include "model/layout.h"

namespace mercutio::posix {

// CephFS: the extended attribute "ceph.file.layout". Objects of one stripe each lie on servers that nobody can foresee: then the object counts as
// the stripe, and the number of servers isn't known.
Layout parse_ceph_layout(std::string_view text);

// That of an open file; zeros where the file system tells none.
Layout told_layout(int fd, const std::string& file_system);

}  // namespace mercutio::posix
