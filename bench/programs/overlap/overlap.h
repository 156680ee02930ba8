// The program of `mercutio bench overlap`: what a call that splits into posting and completion costs, and how much of
// it hides behind computation. It shares bench.h's contents, checks and output with the program of `mercutio bench`.
#ifndef MERCUTIO_OVERLAP_H
#define MERCUTIO_OVERLAP_H

#include "../bench.h"

enum { kBlock = 4096 };

typedef enum { kPointer, kOffset, kSharedPointer, kOrdered } Place;
typedef enum { kContiguous, kInterleaved } Pattern;

// One access of this rank: everything an MPI-IO call takes.
typedef struct {
  MPI_File file;
  MPI_Offset offset;
  char* buffer;
  int count;  // bytes
  MPI_Request request;
  MPI_Status status;
} Access;

typedef struct {
  const char* name;
  int write, collective, split;
  Place place;
  int (*post)(Access*);
  int (*complete)(Access*);
  int (*blocking)(Access*);
} Call;

typedef struct {
  const Call* call;
  Pattern pattern;
  const Run* run;
  Access access;
  char path[kNameBytes];
  i64 file_bytes;
  u64 salt;  // of the contents that are there, or that are being written
} Setup;

// Seconds of the slowest rank; `post` and `complete` are those inside the calls.
typedef struct {
  double total, post, complete;
  i64 wrong;
} Timing;

// What a program does between posting and completion.
typedef struct {
  i64 work;     // units of arithmetic
  int testing;  // MPI_Test every so often
} Between;

// calls.c
extern const Call kCalls[];
int names_match(const char* wanted, const char* name);

// work.c
void compute(i64 units, Access* tested);
double units_per_second(const Run* run);

// access.c
int has_pattern(const Call* call, Pattern pattern);
const char* pattern_name(Pattern pattern);
void set_up(Setup* setup, const Run* run, const Call* call, Pattern pattern);
void take_down(Setup* setup);
Timing blocking(Setup* setup);
Timing nonblocking(Setup* setup, Between between);

#endif
