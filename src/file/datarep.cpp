// The representations a program has registered. Looked up once a set_view.
#include "file/datarep.h"

namespace mercutio {

std::string plain_datarep_name(const std::string& name) {
  for (const char* const capital : {"NATIVE", "INTERNAL", "EXTERNAL32"}) {
    if (name != capital) continue;
    std::string plain = name;
    for (char& c : plain) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return plain;
  }
  return name;
}

bool is_predefined_datarep(const std::string& name) { return name == "native" || name == "internal" || name == "external32"; }

Status DatarepRegistry::add(RegisteredDatarep datarep) {
  const std::string name = plain_datarep_name(datarep.name);
  if (name.empty()) return Error{ErrorClass::kArg, "a data representation needs a name"};
  std::lock_guard lock(mutex_);
  if (is_predefined_datarep(name) || by_name_.contains(name))
    return Error{ErrorClass::kDupDatarep, "data representation '" + name + "' is already defined"};
  by_name_.emplace(name, std::make_shared<const RegisteredDatarep>(std::move(datarep)));
  return ok_status();
}

Result<std::shared_ptr<const RegisteredDatarep>> DatarepRegistry::find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end())
    return Error{ErrorClass::kUnsupportedDatarep, "no data representation '" + name + "' is registered"};
  return found->second;
}

}  // namespace mercutio
