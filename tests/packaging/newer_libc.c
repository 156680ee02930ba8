#include <stdlib.h>

unsigned newer_libc(void) { return arc4random(); }
