// A shared_ptr without a reference count, to an object that another owner keeps alive for as long as the pointer is used.
#pragma once

#include <memory>

namespace mercutio {

template <class T>
std::shared_ptr<T> borrowed(T* kept) { return {std::shared_ptr<T>(), kept}; }
template <class T>
std::shared_ptr<T> borrowed(const std::shared_ptr<T>& kept) { return borrowed(kept.get()); }

}  // namespace mercutio
