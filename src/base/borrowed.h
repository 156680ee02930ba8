// A shared_ptr to what somebody else keeps for as long as it is used: copies of it count nothing.
#pragma once

#include <memory>

namespace mercutio {

template <class T>
std::shared_ptr<T> borrowed(const std::shared_ptr<T>& kept) { return {std::shared_ptr<T>(), kept.get()}; }

}  // namespace mercutio
