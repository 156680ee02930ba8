# io_uring, if liburing is there as a static library: what is preloaded must not need one more shared library.
find_path(MERCUTIO_URING_INCLUDE_DIR liburing.h)
find_library(MERCUTIO_URING_LIBRARY NAMES liburing.a)
mercutio_part(URING "io_uring" "MERCUTIO_URING_INCLUDE_DIR;MERCUTIO_URING_LIBRARY" "liburing (Debian: liburing-dev);static liburing (liburing-dev)" "nonblocking transfers run in threads")
if(MERCUTIO_HAS_URING)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/storage/posix/uring_queue.cpp PROPERTIES
    COMPILE_DEFINITIONS MERCUTIO_HAVE_URING)
  target_include_directories(mercutio_core SYSTEM PRIVATE ${MERCUTIO_URING_INCLUDE_DIR})
  target_link_libraries(mercutio_core PRIVATE ${MERCUTIO_URING_LIBRARY})
endif()
