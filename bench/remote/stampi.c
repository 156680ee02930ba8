/* Block-cyclic shares of a file, as in the measurements of Stampi: each rank has blocks of 16,384 ints in turn with the others, by
   MPI_Type_vector. Prints seconds.

     stampi old|new write|read FILE MIB REQUEST_KIB     from the first call until the data is there, at the server or here
     stampi compute write|read FILE MIB MILLISECONDS    computation alone, then the same with a transfer under way, and the part of a
                                                        core that the threads that transfer took meanwhile; "short" if the transfer ended before

   new: one collective call of all ranks. old: what ranks ask for goes through rank 0, the I/O process, in requests that are carried out one
   by one: those of rank 0, then those of rank 1, and so on; the next one begins when the one before is done. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { kInts = 16384, kPasses = 7 };
static const long kBlock = kInts * (long)sizeof(int);

struct job {
  int rank, size, reads;
  long bytes;   /* of a rank */
  long request;
  int *data;
};

static MPI_Datatype share_of(const struct job *job, long bytes) {
  MPI_Datatype type;
  MPI_Type_vector((int)(bytes / kBlock), kInts, kInts * job->size, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static void fill(const struct job *job) {
  for (long i = 0; i < job->bytes / (long)sizeof(int); i++) job->data[i] = job->reads ? -1 : (int)i * job->size + job->rank;
}

static int wrong(const struct job *job) {
  for (long i = 0; i < job->bytes / (long)sizeof(int); i++)
    if (job->data[i] != (int)i * job->size + job->rank) return 1;
  return 0;
}

static void new_mode(const struct job *job, MPI_File file) {
  MPI_Datatype type = share_of(job, job->bytes);
  MPI_File_set_view(file, job->rank * kBlock, MPI_INT, type, "native", MPI_INFO_NULL);
  const int count = (int)(job->bytes / (long)sizeof(int));
  if (job->reads)
    MPI_File_read_all(file, job->data, count, MPI_INT, MPI_STATUS_IGNORE);
  else
    MPI_File_write_all(file, job->data, count, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
}

/* One request of rank `owner`, which lies `at` in its data; rank 0's hands move it. */
static void request(const struct job *job, MPI_File file, int owner, long at, int *buffer) {
  const int count = (int)(job->request / (long)sizeof(int));
  int *mine = job->data + at / (long)sizeof(int);
  if (job->rank != 0 && job->reads) MPI_Recv(mine, count, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (job->rank != 0 && !job->reads) MPI_Ssend(mine, count, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (job->rank != 0) return;
  MPI_Datatype type = share_of(job, job->request);
  MPI_File_set_view(file, at * job->size + owner * kBlock, MPI_INT, type, "native", MPI_INFO_NULL);
  int *moved = owner == 0 ? mine : buffer;
  if (!job->reads && owner != 0) MPI_Recv(moved, count, MPI_INT, owner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (job->reads)
    MPI_File_read_at(file, 0, moved, count, MPI_INT, MPI_STATUS_IGNORE);
  else
    MPI_File_write_at(file, 0, moved, count, MPI_INT, MPI_STATUS_IGNORE);
  if (job->reads && owner != 0) MPI_Ssend(moved, count, MPI_INT, owner, 0, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

static void old_mode(const struct job *job, MPI_File file) {
  int *buffer = malloc((size_t)job->request);
  for (int owner = 0; owner < job->size; owner++)
    for (long at = 0; at < job->bytes; at += job->request)
      if (job->rank == 0 || job->rank == owner) request(job, file, owner, at, buffer);
  free(buffer);
}

static MPI_File open_file(const char *name, int old) {
  MPI_File file;
  MPI_Info info = MPI_INFO_NULL;
  if (old) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "mercutio_write_behind", "disable");
    MPI_Info_set(info, "mercutio_read_ahead", "disable");
    MPI_Info_set(info, "mercutio_depth", "1");
  }
  if (MPI_File_open(old ? MPI_COMM_SELF : MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  return file;
}

static int transfer(struct job *job, const char *name, int old) {
  int bad, opens = !old || job->rank == 0;
  MPI_File file = opens ? open_file(name, old) : MPI_FILE_NULL;
  fill(job);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  if (old)
    old_mode(job, file);
  else
    new_mode(job, file);
  if (opens && !job->reads) MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime() - start;
  if (opens) MPI_File_close(&file);
  bad = job->reads && wrong(job);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (job->rank == 0) printf("%d wrong %.6f\n", bad, start);
  return bad;
}

/* The sums keep a compiler from leaving it out. */
static double compute(long steps) {
  static double field[2048];
  const double start = MPI_Wtime();
  for (long step = 0; step < steps; step++)
    for (int i = 1; i < 2047; i++) field[i] = 0.25 * (field[i - 1] + field[i + 1]) + 0.5 * field[i] + 1e-3;
  return field[1024] < 0 ? -1 : MPI_Wtime() - start;
}

static double processor_time(int who) {
  struct rusage used;
  getrusage(who, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int slow_down(struct job *job, const char *name, int milliseconds) {
  MPI_File file = open_file(name, 0);
  const int count = (int)(job->bytes / (long)sizeof(int));
  fill(job);
  MPI_File_write_at(file, 0, job->data, count, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  long steps = 1000;
  while (compute(steps) < 0.05) steps *= 2;
  steps = (long)((double)steps * milliseconds * 1e-3 / compute(steps));
  for (int pass = 0; pass < kPasses; pass++) {
    int done = 0;
    MPI_Request under_way;
    const double alone = compute(steps);
    if (job->reads)
      MPI_File_iread_at(file, 0, job->data, count, MPI_INT, &under_way);
    else
      MPI_File_iwrite_at(file, 0, job->data, count, MPI_INT, &under_way);
    const double mine = processor_time(RUSAGE_THREAD), all = processor_time(RUSAGE_SELF);
    const double together = compute(steps);
    const double computing = processor_time(RUSAGE_THREAD) - mine, moving = processor_time(RUSAGE_SELF) - all - computing;
    MPI_Test(&under_way, &done, MPI_STATUS_IGNORE);
    if (!done) MPI_Wait(&under_way, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    printf("%.6f %.6f %.6f %s\n", alone, together, moving / together, done ? "short" : "whole");
  }
  MPI_File_close(&file);
  return 0;
}

int main(int argc, char **argv) {
  struct job job;
  int failed = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  if (argc == 6) {
    job.reads = strcmp(argv[2], "read") == 0;
    job.bytes = (atol(argv[4]) << 20) / job.size;
    job.request = atol(argv[5]) << 10;
    job.data = malloc((size_t)job.bytes);
    failed = strcmp(argv[1], "compute") == 0 ? slow_down(&job, argv[3], atoi(argv[5])) : transfer(&job, argv[3], strcmp(argv[1], "old") == 0);
    free(job.data);
  }
  MPI_Finalize();
  return failed;
}
