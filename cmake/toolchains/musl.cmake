# x86-64 with musl for its C library, and LLVM's for C++: zig (PyPI's ziglang) is the compiler and has both inside. It links statically, and what it
# makes runs on any Linux.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(zig ${CMAKE_CURRENT_LIST_DIR}/../../third_party/wheels/ziglang/ziglang/zig)
set(CMAKE_C_COMPILER ${zig} cc -target x86_64-linux-musl)
set(CMAKE_CXX_COMPILER ${zig} c++ -target x86_64-linux-musl)
set(MERCUTIO_STATIC ON)   # also for the tests: what puts functions of its own before those of a library is left out
# What this system has for glibc is of no use.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
foreach(language CC CXX FORT)
  set(MPI${language}_mpich OFF CACHE STRING "")
  set(MPI${language}_openmpi OFF CACHE STRING "")
endforeach()
