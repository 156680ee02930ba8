// Where this copy of Mercutio is installed, as seen from the library or program that contains this code.
#pragma once

#include <string>
#include <vector>

namespace mercutio {

// The folder of that library or program: absolute, with symbolic links resolved. "" if the system doesn't say.
std::string own_folder();

// Where libraries of ours may be: beside this one; of a program, in the folder of libraries of its prefix or build tree.
std::vector<std::string> library_folders();

// PREFIX/`name`, where PREFIX is what the installation was given or moved to. "" in a folder that is none of an installation.
std::string installed_file(const std::string& name);

}  // namespace mercutio
