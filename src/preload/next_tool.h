/* A profiling tool that follows this library in the symbol search order. */
#ifndef MERCUTIO_NEXT_TOOL_H
#define MERCUTIO_NEXT_TOOL_H

/* The tool's function of this name, which the program's calls are passed to, if the tool in turn calls this library. `mpi_path`: the program's
   MPI library. NULL: there is none. */
void* mercutio_next_tool(const char* name, const char* mpi_path);

#endif
