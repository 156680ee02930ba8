/* The interface between the stubs and the code that finds their targets. */
#ifndef MERCUTIO_STUBS_H
#define MERCUTIO_STUBS_H

#include <stdatomic.h>
#include <stdint.h>

typedef uintptr_t word;
_Static_assert(sizeof(word) == 8, "the stubs know 64-bit systems only");

#pragma GCC visibility push(hidden)
extern void* _Atomic mercutio_table[];   /* in the order of mercutio_names */
void* mercutio_resolve(word index);      /* the target from now on */
#pragma GCC visibility pop

#endif
