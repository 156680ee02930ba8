/* Mercutio's own functions, beyond the MPI-IO chapter that it implements. C11 and C++. */
#ifndef MERCUTIO_MERCUTIO_H
#define MERCUTIO_MERCUTIO_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library in use, "MAJOR.MINOR.PATCH". Static storage; any time, any thread. */
const char* mercutio_version(void);

#ifdef __cplusplus
}
#endif

#endif
