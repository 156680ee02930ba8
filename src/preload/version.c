#include "mercutio/mercutio.h"

const char* mercutio_version(void) { return MERCUTIO_VERSION; }
