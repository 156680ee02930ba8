// What `mercutio probe` measured, as hints for the files of a file system. Kept in the user's configuration:
// $XDG_CONFIG_HOME/mercutio/measured, else ~/.config/mercutio/measured.
//
//   [/scratch/me]
//   mercutio_saturation_bytes 1048576
//   mercutio_aggregators_per_node 2
//
// A section counts for every file of the file system that its directory is on. Any hint may stand there; all other sources win.
#pragma once

#include <string>

#include "model/hints.h"

namespace mercutio {

// What such a text says of the file system that `path` is, or will be, on.
InfoItems measured_hints(const std::string& text, const std::string& path);

// "" without a home directory.
std::string measured_file();
// The file's text with this section added, in the place of those for the same file system.
std::string with_section(const std::string& text, const std::string& directory, const InfoItems& items);

}  // namespace mercutio
