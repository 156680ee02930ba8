#include "python.h"

#include "process.h"

namespace mercutio::tool {

std::string find_python(const std::string& modules) {
  const std::string named = environment("MERCUTIO_PYTHON");
  if (!named.empty()) return named;
  const std::string first = find_on_path("python3");
  // As scripts see it: without the working directory, which -c has. A folder without modules, which may be anything of that name, has no origin.
  const std::string look = "import sys; sys.path[:] = [p for p in sys.path if p]; import importlib.util as u; specs = [u.find_spec(m) for m in '" + modules +
                           "'.split(', ')]; sys.exit(not all(s and s.origin for s in specs))";
  // Beside this command: the environment that it was installed into, activated or not.
  for (const std::string& python : {own_directory() + "/python3", first, std::string("/usr/bin/python3")}) {
    if (!python.empty() && capture({python, "-c", look}, 60).exit_code == 0) return python;
  }
  return first;
}

}  // namespace mercutio::tool
