/* The I/O of the NAS benchmark BT, in OpenMP: a cube of cells with five numbers each is cut into blocks that lie diagonally for
 * every thread (multi-partitioning), and after each step all threads append the solution to one file, whose order is that of the
 * cube: each thread has many short pieces of it, a list. At the end each thread's blocks go to a restart file as they are in its
 * memory, thread after thread. Both files are read back and every number is checked.
 *
 *   cc -O2 -fopenmp bt_omp.c -lmercutio-omp -o bt_omp
 *   OMP_NUM_THREADS=4 ./bt_omp [CLASS [STEPS [FILE]]]      CLASS: S, W, A, B, C, or the cells of an edge; A, 5, bt.out
 *
 * Prints for each kind of access the megabytes, the seconds in calls (with opening and closing), and MB/s. */
#include <mercutio/omp_file.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kNumbers = 5, kCellBytes = kNumbers * (int)sizeof(double), kAccesses = 4 };

typedef struct {
  int edge, steps, threads;
  int across, along; /* threads = across * along; blocks across * along * along */
  char file[4096], restart[4200];
} Problem;

/* What a thread has: its blocks one behind the other, in runs of cells that are contiguous in the cube, too. */
typedef struct {
  double *cells;
  long bytes;
  int runs;
  struct iovec *list;
  off_t *places; /* of the runs, in cells */
  off_t *offsets;
} Part;

typedef struct {
  double seconds[kAccesses], megabytes[kAccesses];
  long wrong;
} Result;

static const char *const names[kAccesses] = {"solution write", "solution read", "restart write", "restart read"};

static void fail(const char *what) {
  fprintf(stderr, "bt_omp: thread %d: %s: %s\n", omp_get_thread_num(), what, omp_file_message());
  exit(1);
}

static void *get(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) fail("no memory");
  return memory;
}

static int cut(const Problem *p, int block, int blocks) { return (int)((long)p->edge * block / blocks); }

static double number(const Problem *p, int step, off_t cell, int which) {
  return ((double)step * p->edge * p->edge * p->edge + (double)cell) * kNumbers + which;
}

/* The block of a slab is the thread's neighbour's of the slab before: everybody has one in each. */
static void make_part(const Problem *p, Part *part) {
  int me = omp_get_thread_num(), i = me % p->across, j = me / p->across;
  part->runs = 0;
  part->bytes = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      part->cells = get((size_t)part->bytes);
      part->list = get(sizeof *part->list * (size_t)part->runs);
      part->places = get(sizeof *part->places * (size_t)part->runs);
      part->offsets = get(sizeof *part->offsets * (size_t)part->runs);
    }
    part->runs = 0;
    part->bytes = 0;
    for (int slab = 0; slab < p->along; ++slab) {
      int bx = (i + slab) % p->across, by = (j + p->along - slab) % p->along;
      int x = cut(p, bx, p->across), length = cut(p, bx + 1, p->across) - x;
      for (int z = cut(p, slab, p->along); z < cut(p, slab + 1, p->along); ++z) {
        for (int y = cut(p, by, p->along); y < cut(p, by + 1, p->along); ++y) {
          if (pass == 1) {
            part->list[part->runs].iov_base = (char *)part->cells + part->bytes;
            part->list[part->runs].iov_len = (size_t)length * kCellBytes;
            part->places[part->runs] = ((off_t)z * p->edge + y) * p->edge + x;
          }
          ++part->runs;
          part->bytes += (long)length * kCellBytes;
        }
      }
    }
  }
}

/* Stands for the computation of a step. */
static void fill(const Problem *p, Part *part, int step) {
  for (int run = 0; run < part->runs; ++run) {
    double *to = part->list[run].iov_base;
    long numbers = (long)(part->list[run].iov_len / sizeof(double));
    for (long i = 0; i < numbers; ++i) to[i] = number(p, step, part->places[run] + i / kNumbers, (int)(i % kNumbers));
  }
}

static long count_wrong(const Problem *p, const Part *part, int step) {
  long wrong = 0;
  for (int run = 0; run < part->runs; ++run) {
    const double *from = part->list[run].iov_base;
    long numbers = (long)(part->list[run].iov_len / sizeof(double));
    for (long i = 0; i < numbers; ++i) wrong += from[i] != number(p, step, part->places[run] + i / kNumbers, (int)(i % kNumbers));
  }
  return wrong;
}

static void aim(const Problem *p, Part *part, int step) {
  off_t begin = (off_t)step * p->edge * p->edge * p->edge;
  for (int run = 0; run < part->runs; ++run) part->offsets[run] = (begin + part->places[run]) * kCellBytes;
}

/* The time of all threads' calls: from when the last one is ready. */
static double start(void) {
#pragma omp barrier
  return omp_get_wtime();
}

static double opened(int *fd, const char *name, int flags) {
  double begin = start();
  if (omp_file_open_all(fd, name, flags) != 0) fail("open");
  return omp_get_wtime() - begin;
}

static double closed(int fd) {
  double begin = start();
  if (omp_file_close_all(fd) != 0) fail("close");
  return omp_get_wtime() - begin;
}

static double solution(const Problem *p, Part *part, int *fd, int reading, long *wrong) {
  double seconds = opened(fd, p->file, reading ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC);
  for (int step = 0; step < p->steps; ++step) {
    aim(p, part, step);
    if (reading)
      memset(part->cells, 0, (size_t)part->bytes);
    else
      fill(p, part, step);
    double begin = start();
    ssize_t moved = reading ? omp_file_read_list_at_all(part->list, part->offsets, part->runs, *fd, OMP_FILE_NO_HINT)
                            : omp_file_write_list_at_all(part->list, part->offsets, part->runs, *fd, OMP_FILE_NO_HINT);
    seconds += omp_get_wtime() - begin;
    if (moved != part->bytes) fail(names[reading]);
    if (reading) *wrong += count_wrong(p, part, step);
  }
  return seconds + closed(*fd);
}

static double restart(const Problem *p, Part *part, int *fd, int reading, long *wrong) {
  double seconds = opened(fd, p->restart, reading ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC);
  for (int step = 0; step < p->steps; ++step) {
    if (reading)
      memset(part->cells, 0, (size_t)part->bytes);
    else
      fill(p, part, step);
    double begin = start();
    ssize_t moved = reading ? omp_file_read_all(part->cells, part->bytes, *fd, OMP_FILE_NO_HINT)
                            : omp_file_write_all(part->cells, part->bytes, *fd, OMP_FILE_NO_HINT);
    seconds += omp_get_wtime() - begin;
    if (moved != part->bytes) fail(names[2 + reading]);
    if (reading) *wrong += count_wrong(p, part, step);
  }
  return seconds + closed(*fd);
}

static void run(Problem *p, Result *result) {
  int fd = -1;
  long wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
#pragma omp single
    {
      p->threads = omp_get_num_threads();
      for (int i = 1; i * i <= p->threads; ++i)
        if (p->threads % i == 0) p->across = i;
      p->along = p->threads / p->across;
    }
    Part part;
    make_part(p, &part);
    for (int access = 0; access < kAccesses; ++access) {
      double seconds = (access < 2 ? solution : restart)(p, &part, &fd, access % 2, &wrong);
#pragma omp master
      result->seconds[access] = seconds;
    }
    free(part.cells);
    free(part.list);
    free(part.places);
    free(part.offsets);
  }
  result->wrong = wrong;
  for (int access = 0; access < kAccesses; ++access)
    result->megabytes[access] = 1e-6 * p->steps * p->edge * p->edge * p->edge * kCellBytes;
}

int main(int argc, char **argv) {
  static const char classes[] = "SWABC";
  static const int edges[] = {12, 24, 64, 102, 162};
  const char *given = argc > 1 ? argv[1] : "A", *found = strchr(classes, given[0]);
  Problem problem = {.edge = found && given[0] && !given[1] ? edges[found - classes] : atoi(given), .steps = argc > 2 ? atoi(argv[2]) : 5};
  Result result = {.wrong = 0};
  if (problem.edge < 1 || problem.edge > 2000 || problem.steps < 1 || argc > 4) {
    fprintf(stderr, "usage: bt_omp [CLASS [STEPS [FILE]]]   CLASS: S, W, A, B, C, or the cells of an edge\n");
    return 2;
  }
  snprintf(problem.file, sizeof problem.file, "%s", argc > 3 ? argv[3] : "bt.out");
  snprintf(problem.restart, sizeof problem.restart, "%s.restart", problem.file);
  run(&problem, &result);
  printf("%d threads, %d^3 cells, %d steps, %ld numbers wrong\n", problem.threads, problem.edge, problem.steps, result.wrong);
  for (int access = 0; access < kAccesses; ++access)
    printf("%-14s %10.1f MB %9.4f s %10.1f MB/s\n", names[access], result.megabytes[access], result.seconds[access],
           result.megabytes[access] / result.seconds[access]);
  return result.wrong != 0;
}
