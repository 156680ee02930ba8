# io_uring, if liburing is there as a static library: what is preloaded must not need one more shared library.
find_path(MERCUTIO_URING_INCLUDE_DIR liburing.h)
find_library(MERCUTIO_URING_LIBRARY NAMES liburing.a)
option(MERCUTIO_URING "Use io_uring where it is there" ON)
if(MERCUTIO_URING AND MERCUTIO_URING_INCLUDE_DIR AND MERCUTIO_URING_LIBRARY)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/storage/posix/uring_queue.cpp PROPERTIES
    COMPILE_DEFINITIONS MERCUTIO_HAVE_URING)
  target_include_directories(mercutio_core SYSTEM PRIVATE ${MERCUTIO_URING_INCLUDE_DIR})
  target_link_libraries(mercutio_core PRIVATE ${MERCUTIO_URING_LIBRARY})
else()
  message(STATUS "No static liburing: nonblocking transfers run in threads")
endif()
