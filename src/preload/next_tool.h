/* A profiling tool that comes after this library in the order of symbols. */
#ifndef MERCUTIO_NEXT_TOOL_H
#define MERCUTIO_NEXT_TOOL_H

/* The tool's function of this name, if there is one that leads back here: then it is what the program calls. `mpi_path` is the
   program's MPI library. NULL: there is none. */
void* mercutio_next_tool(const char* name, const char* mpi_path);

#endif
