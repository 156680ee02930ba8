/* mercutio-replay: repeats the file accesses of a recorded job from a script that `mercutio replay` makes of a trace. Plain
 * MPI-IO: it is compiled with the mpicc of the MPI that runs it, and links nothing of ours. */
#ifndef MERCUTIO_REPLAY_H
#define MERCUTIO_REPLAY_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

typedef int64_t i64;
typedef uint64_t u64;

/* ---- types.c: datatypes as trees of bytes */
typedef struct Node Node;
typedef struct {
  i64 lb, extent, size, first; /* first: offset of the first byte of data */
  Node* root;                  /* NULL: no data */
  MPI_Datatype handle;
} Type;

void read_type(FILE* script, Type* type);
/* Calls visit(state, offset, bytes) for the contiguous pieces of stream bytes [begin, begin + bytes) of tiled copies. */
typedef void Visit(void* state, i64 offset, i64 bytes);
void walk_type(const Type* type, i64 begin, i64 bytes, Visit* visit, void* state);
/* What `bytes` bytes of memory are elements of, and how many; to be freed when it is not MPI_BYTE. */
MPI_Datatype bytes_type(i64 bytes, int* count);

/* ---- data.c: what files hold: every byte is a function of its offset */
void fill_bytes(char* to, i64 offset, i64 bytes);
i64 wrong_bytes(const char* from, i64 offset, i64 bytes); /* neither that nor zero, as where nothing was written */

/* ---- script.c */
typedef struct {
  i64 needed_bytes;
  char* name;
} File;

typedef struct {
  int ranks, files, groups, infos;
  File* file;
  int** group; /* [0]: how many */
  char*** info; /* key=value, ends with NULL */
  FILE* steps; /* at this rank's part */
} Script;

void read_script(const char* path, Script* script, int rank);

/* ---- play.c */
typedef struct {
  MPI_Comm world; /* the ranks that take part */
  char** hints;   /* key=value, ends with NULL; over those of the program */
  int think;      /* pause where the program did */
  int verify;
  int rank;
} Setting;

typedef struct {
  double io_seconds; /* in calls of MPI-IO */
  i64 calls, bytes_read, bytes_written, wrong;
} Tally;

void add_hints(MPI_Info info, char** hints);
void play(const Script* script, const Setting* setting, Tally* tally);

/* ---- main.c */
void fail(const char* what, const char* detail);
void check_mpi(int code, const char* what);
void* must_alloc(i64 bytes);

#endif
