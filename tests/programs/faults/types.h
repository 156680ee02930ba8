// The datatypes of a program as the library's own trees.
#pragma once

#include <vector>

#include "model/flat_type.h"
#include "model/type_spec.h"
#include "program.h"

namespace mercutio::programs {

class CoreTypes {
 public:
  explicit CoreTypes(const Program& program) : program_(program), made_(program.types.size()) {}
  [[nodiscard]] TypeSpecRef get(int type);
  [[nodiscard]] FlatTypeRef flat(int type) { return FlatType::of(*get(type)).value(); }

 private:
  [[nodiscard]] TypeSpecRef make(const Type& type);
  [[nodiscard]] TypeSpecRef make_blocks(const Type& type, const TypeSpecRef& inner);
  [[nodiscard]] TypeSpecRef make_array(const Type& type, const TypeSpecRef& inner);

  const Program& program_;
  std::vector<TypeSpecRef> made_;
};

}  // namespace mercutio::programs
