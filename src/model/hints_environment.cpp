#include "model/hints_environment.h"

#include <cstdlib>

namespace mercutio {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_switched_on(const std::string& value) {
  return !value.empty() && value != "0" && value != "no" && value != "off" && value != "false";
}

std::string configuration_file(const std::string& name) {
  const std::string config = environment("XDG_CONFIG_HOME"), home = environment("HOME");
  if (!config.empty()) return config + "/mercutio/" + name;
  return home.empty() ? "" : home + "/.config/mercutio/" + name;
}

}  // namespace mercutio
