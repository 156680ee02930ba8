// The public header, twice, in C11 and in C++20.
#include <mercutio/mercutio.h>
#include <mercutio/mercutio.h>

const char* header_test_version(void) { return mercutio_version(); }
