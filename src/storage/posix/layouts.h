// Layouts of CephFS and BeeGFS, which consist of a few numbers. For Lustre see lustre.h.
#pragma once

#include <string>
#include <string_view>

#include "model/layout.h"

namespace mercutio::posix {

// CephFS: the extended attribute "ceph.file.layout". If each object has one stripe, its server can't be predicted: then the object
// size counts as the stripe size, and the number of servers is unknown.
Layout parse_ceph_layout(std::string_view text);

// The layout of an open file; zeros if the file system reports none.
Layout query_layout(int fd, const std::string& file_system);

}  // namespace mercutio::posix
