// What the files of the bench program share: a case is a file side and a memory side (where the bytes of the data
// stream lie), the MPI datatypes that say the same, and how the accesses are made. The sides are plain arithmetic,
// without MPI, so that contents can be checked independently of the library that is measured.
#ifndef MERCUTIO_BENCH_H
#define MERCUTIO_BENCH_H

#include <mpi.h>
#include <stdint.h>

typedef int64_t i64;
typedef uint64_t u64;

enum { kWord = 8, kMaxHints = 16, kNestDims = 4, kNameBytes = 512, kLimitSamples = 3, kIcmArrays = 4, kIcmOutputs = 4 };

// Nested loops, outermost first: piece (i0, i1, i2, i3) begins at base + sum of i * stride.
typedef struct {
  i64 base, count[kNestDims], stride[kNestDims];
} Nest;

// The pieces of one access in the order of its data stream. Either nests with pieces of `block` bytes, or explicit
// offsets (lengths may be NULL: then all are `block`). Everything is a multiple of 8 bytes.
typedef struct {
  i64 pieces, block, pieces_per_nest;
  Nest* nests;
  int nest_count;
  i64 *offsets, *lengths;
} Side;

typedef struct {
  i64 offset, bytes;
} Piece;

typedef enum {
  kPlain,     // explicit offset, default view
  kView,      // one set_view, then one access after the other
  kViewEach,  // set_view with the next displacement before each access
  kFiles,     // each access goes to a file of its own
  kElements,  // one call for each element, each access to a file of its own
} Position;

typedef struct {
  Side file, memory;
  MPI_Datatype etype, filetype, memtype;
  i64 bytes;          // of one access of this rank
  i64 memory_bytes;   // the whole buffer
  i64 memory_stride;  // from one access's buffer to the next one's
  i64 file_stride;    // from one access's place in the file to the next one's
  i64 file_bytes;     // resulting size of a file
  i64 gap;            // bytes behind each file piece that nobody writes
  int accesses, members, collective;
  Position position;
} Layout;

typedef struct {
  int rank, ranks;  // among the members
  i64 bytes;        // wanted for each rank
  int types;        // also make the datatypes (only for the own rank)
} Shape;

typedef struct Case {
  const char* name;
  void (*build)(const struct Case* self, const Shape* shape, Layout* layout);
  i64 size;  // what the pattern calls its size
  int variant;
  int divisor;  // of the bytes per rank, for patterns whose host side is slow
  int square;   // needs a square number of ranks
} Case;

typedef struct {
  const char *dir, *patterns, *after, *skip, *hints[kMaxHints];
  i64 bytes;
  double limit_seconds;
  int repetitions, hint_count, full, seed, no_shares;
} Options;

typedef struct {
  const Options* options;
  MPI_Comm members;  // MPI_COMM_NULL on ranks that sit this case out
  MPI_Info info;
  int rank, ranks;
  u64 salt;
} Run;

typedef struct {
  double open, view, access, close, seconds, first, later;
} Times;

// Words that are wrong, and bytes of holes that are not zero any more.
typedef struct {
  i64 wrong, holes;
} Check;

typedef struct {
  i64 bytes, pieces;  // pieces of rank 0's file side
  Check check;
} Totals;

typedef struct {
  int skip_write, skip_read;
} Halves;

// Bytes of all ranks: what reads asked for, and what system calls read meanwhile; how many ranks, and how the file was open.
typedef struct {
  i64 asked, moved, wrong;
  int ranks;
  const char* mode;
} Moved;

extern const Case kCases[];

// side.c
Side nested_side(int nests, i64 block);
Piece side_piece(const Side* side, i64 index);
void free_layout(Layout* layout);
Check check_file(const Layout* layout, const char* path, int access, u64 salt);
void fill_memory(const Layout* layout, char* buffer, u64 salt);
i64 check_memory(const Layout* layout, const char* buffer, u64 salt);
void poison(char* buffer, i64 bytes);
void fill_words(char* to, i64 offset, i64 bytes, u64 salt);
i64 wrong_words(const char* from, i64 offset, i64 bytes, u64 salt);
u64 file_salt(const Layout* layout, int access, u64 salt);
u64 mix(u64 value);
void pread_all(int fd, char* to, i64 bytes, i64 offset);
void pwrite_all(int fd, const char* from, i64 bytes, i64 offset);
char* must_alloc(i64 bytes);
void fail(const char* what, const char* detail);
void check_mpi(int code, const char* what);

// common.c
void limit_storage(int limited);   // the rate-limited storage (striped_servers.c), if there is one, moves the bytes of preparation and checks at once
i64 parse_bytes(const char* text);
int take_option(Options* options, const char* word, const char* value);   // 0: it isn't one that both programs have
MPI_Info make_info(const Options* options);
double slowest(const Run* run, double value);
i64 sum(const Run* run, i64 value);

// irregular.c
void build_icm(const Case* self, const Shape* shape, Layout* layout);
void build_e3sm(const Case* self, const Shape* shape, Layout* layout);

// timing.c
int run_case(const Case* self, const Run* run, Halves halves);
void measure_limit(const Run* run, i64 bytes, double limit[2]);
void file_name(const Run* run, const char* what, int index, char* to);
MPI_File open_file(const Run* run, const char* path, int mode);

// latency.c
int run_latency(const char* name, const Run* run);
extern const char* const kLatencies[];

// ior.c
int ior_name(int index, char* to);   // 0: there are no more
int run_ior(int index, const Run* run, Halves halves);

// moved.c
int moved_name(int index, char* to);   // 0: there are no more
int run_moved(int index, const Run* run);

// output.c
void print_header(const Run* run);
void print_begin(const char* name, const char* operation);
void print_bandwidth(const char* name, const char* operation, const Layout* layout, const Times* times,
                     const Totals* total);
void print_limit(i64 bytes, const double limit[2]);
void print_latency(const char* name, i64 calls, double seconds, i64 errors);
void print_moved(const char* name, const Moved* moved);
void arm(const Run* run);
void disarm(void);

#endif
