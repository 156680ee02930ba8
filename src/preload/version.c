#include "mercutio/mercutio.h"

__attribute__((visibility("default"))) const char* mercutio_version(void) { return MERCUTIO_VERSION; }
