// Annotations that say which mutex guards which data. Clang checks them (`make thread-safety`); other compilers ignore them.
// The check compiles against libc++, whose std::mutex and std::lock_guard are annotated. std::unique_lock and
// std::shared_lock are not: write MERCUTIO_HELD(mutex_) after them, and MERCUTIO_REQUIRES on the predicate of a wait.
#pragma once

#if defined(__clang__) && defined(_LIBCPP_ENABLE_THREAD_SAFETY_ANNOTATIONS)
#define MERCUTIO_GUARDED_BY(mutex) __attribute__((guarded_by(mutex)))
#define MERCUTIO_REQUIRES(mutex) __attribute__((requires_capability(mutex)))
#define MERCUTIO_HELD(mutex) ::mercutio::assume_held(mutex)

namespace mercutio {

template <class Mutex>
void assume_held(Mutex& mutex) __attribute__((assert_capability(mutex))) {}

}  // namespace mercutio
#else
#define MERCUTIO_GUARDED_BY(mutex)
#define MERCUTIO_REQUIRES(mutex)
#define MERCUTIO_HELD(mutex) static_cast<void>(0)
#endif
