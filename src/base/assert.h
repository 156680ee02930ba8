// MERCUTIO_ASSERT(condition): an invariant of the code itself. Mistakes of a program, a peer or a file are Errors, not asserts.
//
// Checked where MERCUTIO_ASSERTS is defined: in the unit, simulation, model, fault, contract and plan tests, in debug builds
// and under sanitizers. There a false condition ends the program and prints its source line. Elsewhere, and in the installed
// library, the condition is compiled but not evaluated: it must have no side effects, and it costs nothing.
#pragma once

namespace mercutio {

[[noreturn]] void assertion_failed(const char* file, int line, const char* condition);

}  // namespace mercutio

#ifdef MERCUTIO_ASSERTS
#define MERCUTIO_ASSERT(...) \
  ((__VA_ARGS__) ? static_cast<void>(0) : ::mercutio::assertion_failed(__FILE__, __LINE__, #__VA_ARGS__))
#else
#define MERCUTIO_ASSERT(...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))
#endif
