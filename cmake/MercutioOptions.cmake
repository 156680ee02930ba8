# Warnings and sanitizers for every target of ours: target_link_libraries(x PRIVATE mercutio_options).
set(MERCUTIO_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
option(MERCUTIO_WERROR "Warnings are errors: for who works on Mercutio" OFF)
set(MERCUTIO_WERROR_FLAG "")
if(MERCUTIO_WERROR)
  set(MERCUTIO_WERROR_FLAG -Werror)
endif()

add_library(mercutio_options INTERFACE)
target_compile_options(mercutio_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>)   # g++ 12 sees overlap in "text" + std::string (PR 105651)
target_compile_options(mercutio_options INTERFACE ${MERCUTIO_WERROR_FLAG})
if(MERCUTIO_SANITIZE)
  target_compile_options(mercutio_options INTERFACE -fsanitize=${MERCUTIO_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(mercutio_options INTERFACE -fsanitize=${MERCUTIO_SANITIZE})
endif()

# What is loaded into programs brings its C++ library: theirs may be older, or another one.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++)
check_cxx_source_compiles("#include <string>\nint main(int, char** words) { return std::string(words[0]).empty(); }" MERCUTIO_STATIC_LIBSTDCXX_WORKS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
set(MERCUTIO_NO_SANITIZER ON)
if(MERCUTIO_SANITIZE)
  set(MERCUTIO_NO_SANITIZER OFF)
endif()
mercutio_part(STATIC_LIBSTDCXX "C++ library inside" "MERCUTIO_STATIC_LIBSTDCXX_WORKS;MERCUTIO_NO_SANITIZER" "libstdc++.a, without a sanitizer,"
  "programs with an older libstdc++ can't load the backends")
set(MERCUTIO_STATIC_LIBSTDCXX_FLAG "")
if(MERCUTIO_HAS_STATIC_LIBSTDCXX)
  set(MERCUTIO_STATIC_LIBSTDCXX_FLAG -static-libstdc++)
endif()

# riscv64: GCC before 13 calls libatomic for atomics of one byte. Static if it can be: what is preloaded must not need one more shared library.
set(byte_exchange "#include <atomic>\nstd::atomic<bool> flag; int main() { return flag.exchange(true); }")
check_cxx_source_compiles("${byte_exchange}" MERCUTIO_ATOMICS_INLINE)
if(NOT MERCUTIO_ATOMICS_INLINE)
  set(CMAKE_REQUIRED_LIBRARIES -l:libatomic.a)
  check_cxx_source_compiles("${byte_exchange}" MERCUTIO_LIBATOMIC_STATIC)
  unset(CMAKE_REQUIRED_LIBRARIES)
  target_link_libraries(mercutio_options INTERFACE $<IF:$<BOOL:${MERCUTIO_LIBATOMIC_STATIC}>,-l:libatomic.a,atomic>)
endif()

# MERCUTIO_ASSERT (src/base/assert.h) everywhere. Without it only tests that link mercutio_checked have it.
set(asserts OFF)
if(MERCUTIO_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(asserts ON)
endif()
option(MERCUTIO_ASSERTS "Check invariants in the library, too; not for what is installed" ${asserts})
if(MERCUTIO_ASSERTS)
  target_compile_definitions(mercutio_options INTERFACE MERCUTIO_ASSERTS)
endif()

# mercutio_time_limit(test seconds): what it may take; sanitizers and emulators make everything slower.
function(mercutio_time_limit test seconds)
  if(MERCUTIO_SANITIZE OR CMAKE_CROSSCOMPILING)
    math(EXPR seconds "6 * ${seconds}")
  endif()
  set_tests_properties(${test} PROPERTIES TIMEOUT ${seconds})
endfunction()

# The shared library a program needs first when it is not instrumented and loads something that is; empty: no sanitizer, or
# a compiler that links its runtime into programs only.
set(MERCUTIO_SANITIZER_RUNTIME "")
if(MERCUTIO_SANITIZE MATCHES "address|thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(short asan)
  if(MERCUTIO_SANITIZE MATCHES "thread")
    set(short tsan)
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${short}.so OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH ${found} MERCUTIO_SANITIZER_RUNTIME)
endif()
