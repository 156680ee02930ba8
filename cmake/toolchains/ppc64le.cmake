set(processor ppc64le)
set(triplet powerpc64le-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
