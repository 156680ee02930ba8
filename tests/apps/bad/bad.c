/* Programs with one I/O fault each, and programs without any: bad NAME FILE [NUMBER]. With NUMBER the program follows remedy NUMBER of its
   fault, from 1 (verdicts.py). BAD_SCALE=n repeats everything n times, for times that can be measured. Prints the seconds between MPI_Init
   and MPI_Finalize, the maximum over the ranks, which is the run time in the report. Four ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEBI 1048576
static int rank, ranks, fixed;
static const char* path;

static MPI_File open_with(MPI_Comm comm, int amode, MPI_Info info) {
  MPI_File file;
  if (MPI_File_open(comm, path, amode, info, &file) != MPI_SUCCESS) {
    fprintf(stderr, "bad: can't open %s\n", path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return file;
}
static MPI_File open_all(MPI_Info info) { return open_with(MPI_COMM_WORLD, MPI_MODE_RDWR | MPI_MODE_CREATE, info); }

static MPI_Info info_of(const char* key, const char* value, const char* key2, const char* value2) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  if (key2) MPI_Info_set(info, key2, value2);
  return info;
}

static char* filled(size_t bytes) {
  char* data = malloc(bytes);
  memset(data, 'a' + rank, bytes);
  return data;
}

/* A view of `pieces` of `bytes` each, with a distance of `every` pieces. The ranks' first pieces are adjacent. */
static void interleave(MPI_File file, int pieces, int bytes, int every) {
  MPI_Datatype type;
  MPI_Type_vector(pieces, bytes, bytes * every, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, (MPI_Offset)rank * bytes, MPI_BYTE, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
}

static void small_calls(int reading) {
  enum { kCount = 40000, kBytes = 64 };
  char* data = filled((size_t)kCount * kBytes);
  MPI_File file = open_all(MPI_INFO_NULL);
  const MPI_Offset begin = (MPI_Offset)rank * kCount * kBytes;
  if (reading || fixed) MPI_File_write_at_all(file, begin, data, kCount * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (reading && fixed) MPI_File_read_at_all(file, begin, data, kCount * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int i = 0; i < kCount && !fixed; ++i) {
    const MPI_Offset at = begin + (MPI_Offset)i * kBytes;
    if (reading) MPI_File_read_at(file, at, data + i * kBytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else MPI_File_write_at(file, at, data + i * kBytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}
static void small_writes(void) { small_calls(0); }
static void small_reads(void) { small_calls(1); }

static void strided(int reading, MPI_Info info, int pieces, int every) {
  enum { kBytes = 64, kTimes = 10 };
  const int bytes = pieces * kBytes;
  char* data = filled(bytes);
  MPI_File file = open_all(info);
  interleave(file, pieces, kBytes, every);
  for (int i = 0; i < (reading ? 1 : kTimes); ++i) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    if (reading || fixed == 2 || (fixed && every == ranks)) MPI_File_write_all(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else MPI_File_write(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  for (int i = 0; reading && i < kTimes; ++i) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    if (fixed) MPI_File_read_all(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else MPI_File_read(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}
static void strided_reads(void) { strided(1, info_of("romio_ds_read", "disable", NULL, NULL), 32768, ranks); }
static void strided_writes(void) { strided(0, info_of("romio_ds_write", "disable", NULL, NULL), 32768, ranks); }
static void amplified_reads(void) {
  enum { kPieces = 256, kBytes = 64, kEvery = 2048, kTimes = 10 };
  const int share = kPieces * kBytes * kEvery / ranks;
  char* data = filled(share);
  MPI_File file = open_all(info_of("romio_ds_read", fixed == 1 ? "automatic" : "enable", NULL, NULL));
  MPI_File_write_at_all(file, (MPI_Offset)rank * share, data, share, MPI_BYTE, MPI_STATUS_IGNORE);
  interleave(file, kPieces, kBytes, fixed == 3 ? ranks : kEvery);
  for (int i = 0; i < kTimes; ++i) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    if (fixed == 2) MPI_File_read_all(file, data, kPieces * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else MPI_File_read(file, data, kPieces * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}
static void merged_writes(void) { strided(0, info_of("romio_ds_write", fixed == 1 ? "automatic" : "enable", NULL, NULL), 512, 1024); }

static void collective(MPI_Info info, int pieces, int bytes, int times) {
  char* data = filled((size_t)pieces * bytes);
  MPI_File file = open_all(info);
  interleave(file, pieces, bytes, ranks);
  for (int i = 0; i < times; ++i) MPI_File_write_all(file, data, pieces * bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
}
static void one_aggregator(void) { collective(info_of("romio_cb_write", "enable", fixed ? NULL : "cb_nodes", "1"), 4096, 4096, 2); }
static void small_stripes(void) {
  MPI_Info info = info_of("romio_cb_write", "enable", "striping_factor", "4");
  MPI_Info_set(info, "striping_unit", fixed ? "1048576" : "4096");
  collective(info, 65536, 64, 4);
}

static void misaligned(void) {
  enum { kCount = 240, kBytes = 40960 };
  char* data = filled(kBytes);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < kCount; ++i) {
    const MPI_Offset at = (fixed == 1 ? 4096 : 100) + ((MPI_Offset)i * ranks + rank) * kBytes;
    if (fixed == 2) MPI_File_write_at_all(file, at, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else MPI_File_write_at(file, at, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}

/* What ranks do before a collective call: late ones take longer. With 1 that is divided evenly, with 2 it is gone. */
static void work(int late, int late_ranks, unsigned longer) {
  usleep(20000 + (fixed == 1 ? longer * late_ranks / ranks : late && !fixed ? longer : 0));
}
static void straggler(void) {
  char* data = filled(MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 4; ++i) {
    work(rank == 1, 1, 400000);
    MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * MEBI, data, MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}

static void half_late(void) {
  char* data = filled(65536);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 10; ++i) {
    work(rank < 2, 2, 100000);
    MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * 65536, data, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}

/* The others wait for a late rank in opens, closes, syncs and changes of the size, which take next to nothing themselves. */
static void late_opens(void) {
  char* data = filled(65536);
  for (int i = 0; i < 20; ++i) {
    work(rank == 3, 1, 60000);
    MPI_File file = open_all(MPI_INFO_NULL);
    MPI_File_write_at_all(file, (MPI_Offset)rank * 65536, data, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  free(data);
}
static void late_syncs(void) {
  char* data = filled(65536);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 20; ++i) {
    MPI_File_write_at(file, ((MPI_Offset)i * ranks + rank) * 65536, data, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
    work(rank == 3, 1, 60000);
    MPI_File_sync(file);
  }
  MPI_File_close(&file);
  free(data);
}
static void late_sizes(void) {
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 20; ++i) {
    work(rank == 2, 1, 60000);
    MPI_File_set_size(file, (i + 1) * 4096);
  }
  MPI_File_close(&file);
}
static void resized(void) {
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = fixed ? 9999 : 0; i < 10000; ++i) MPI_File_set_size(file, (i + 1) * 4096);
  MPI_File_close(&file);
}
/* Each step sets a view for its part of a ring, in place of an offset. Every tenth has something to write. */
static void view_loop(void) {
  enum { kSteps = 3000, kPlaces = 16, kBytes = 262144 };
  char* data = filled(kBytes);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < kSteps; ++i) {
    const MPI_Offset at = ((MPI_Offset)(i / 10 % kPlaces) * ranks + rank) * kBytes;
    if (!fixed) MPI_File_set_view(file, at, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    if (i % 10 == 0) MPI_File_write_at(file, fixed ? at : 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}
static void setting_loop(void) {
  enum { kSteps = 3000, kPlaces = 16, kBytes = 262144 };
  char* data = filled(kBytes);
  MPI_File file = open_all(MPI_INFO_NULL);
  MPI_Info info = info_of("romio_ds_write", "disable", NULL, NULL);
  for (int i = 0; i < kSteps; ++i) {
    if (!fixed || i == 0) MPI_File_set_info(file, info);
    if (i % 10 == 0) MPI_File_write_at(file, ((MPI_Offset)(i / 10 % kPlaces) * ranks + rank) * kBytes, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_Info_free(&info);
  MPI_File_close(&file);
  free(data);
}
static void size_queries(void) {
  MPI_Offset bytes = 0;
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < (fixed ? 1 : 500000); ++i) MPI_File_get_size(file, &bytes);
  MPI_File_close(&file);
}

/* Another rank is late each time. */
static void late_in_turns(void) {
  char* data = filled(65536);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 20; ++i) {
    work(rank == i % ranks, 1, 60000);
    MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * 65536, data, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}

static void small_collectives(void) {
  enum { kCount = 4000, kBytes = 2048 };
  char* data = filled((size_t)kCount * kBytes);
  MPI_File file = open_all(MPI_INFO_NULL);
  if (fixed) interleave(file, kCount, kBytes, ranks);
  if (fixed) MPI_File_write_all(file, data, kCount * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int i = 0; i < kCount && !fixed; ++i)
    MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * kBytes, data + i * kBytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
}

/* A log in the order of the shared file pointer. */
static void shared_log(void) {
  enum { kCount = 40000, kBytes = 48 };
  char* data = filled((size_t)kCount * kBytes);
  MPI_File file = open_all(MPI_INFO_NULL);
  if (fixed) MPI_File_write_ordered(file, data, kCount * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int i = 0; i < kCount && !fixed; ++i) MPI_File_write_shared(file, data + i * kBytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
}

static void serial(void) {
  const int bytes = 32 * MEBI;
  char* data = filled(bytes);
  char* all = rank == 0 && !fixed ? malloc((size_t)bytes * ranks) : NULL;
  if (fixed) {
    MPI_File file = open_all(MPI_INFO_NULL);
    MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  } else {
    MPI_Gather(data, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_File file = open_with(MPI_COMM_SELF, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL);
      MPI_File_write(file, all, bytes * ranks, MPI_BYTE, MPI_STATUS_IGNORE);
      MPI_File_close(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(all);
  free(data);
}

static void reopened(void) {
  char* data = filled(4096);
  MPI_File file = fixed ? open_all(MPI_INFO_NULL) : MPI_FILE_NULL;
  for (int i = 0; i < 300; ++i) {
    if (!fixed) file = open_all(MPI_INFO_NULL);
    MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * 4096, data, 4096, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!fixed) MPI_File_close(&file);
  }
  if (fixed) MPI_File_close(&file);
  free(data);
}

static void many_syncs(void) {
  char* data = filled(65536);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 50; ++i) {
    MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * 65536, data, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!fixed || i == 49) MPI_File_sync(file);
  }
  MPI_File_close(&file);
  free(data);
}

static void same_data_read(void) {
  char* data = filled(4 * MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  MPI_File_write_at_all(file, (MPI_Offset)rank * MEBI, data, MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int step = 0; step < 40; ++step) {
    if (!fixed || (step == 0 && rank == 0)) MPI_File_read_at(file, 0, data, ranks * MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
    if (fixed && step == 0) MPI_Bcast(data, ranks * MEBI, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  MPI_File_close(&file);
  free(data);
}

static void ignored_hints(void) {
  char* data = filled(MEBI);
  MPI_File file = open_all(fixed ? MPI_INFO_NULL : info_of("cb_buffersize", "1048576", NULL, NULL));
  MPI_File_write_at_all(file, (MPI_Offset)rank * MEBI, data, MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
}

/* A file for each step, as simulations write them. */
static MPI_File open_number(MPI_Comm comm, int number) {
  static char name[4096];
  const char* const all = path;
  snprintf(name, sizeof name, "%s.%03d", all, number);
  path = name;
  MPI_File file = open_with(comm, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL);
  path = all;
  return file;
}
static MPI_File open_step(int step) { return open_number(MPI_COMM_WORLD, step); }
static void steps(void) {
  enum { kSteps = 60, kCount = 4000, kBytes = 128 };
  char* data = filled(kCount * kBytes);
  for (int step = 0; step < kSteps; ++step) {
    MPI_File file = open_step(step);
    const MPI_Offset begin = (MPI_Offset)rank * kCount * kBytes;
    if (fixed) MPI_File_write_at_all(file, begin, data, kCount * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    for (int i = 0; i < kCount && !fixed; ++i)
      MPI_File_write_at(file, begin + (MPI_Offset)i * kBytes, data + i * kBytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  free(data);
}
static void many_files(void) {
  enum { kSteps = 300, kBytes = 16384 };
  char* data = filled(kBytes);
  MPI_File file = fixed ? open_all(MPI_INFO_NULL) : MPI_FILE_NULL;
  for (int step = 0; step < kSteps; ++step) {
    if (!fixed) file = open_step(step);
    MPI_File_write_at_all(file, ((MPI_Offset)(fixed ? step : 0) * ranks + rank) * kBytes, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!fixed) MPI_File_close(&file);
  }
  if (fixed) MPI_File_close(&file);
  free(data);
}

/* The same with names that have no number in common. */
static void unlike_files(void) {
  enum { kFiles = 120, kBytes = 16384 };
  static char name[4096];
  const char* const all = path;
  char* data = filled(kBytes);
  MPI_File file = fixed ? open_all(MPI_INFO_NULL) : MPI_FILE_NULL;
  for (int i = 0; i < kFiles; ++i) {
    snprintf(name, sizeof name, "%s.%c%c", all, 'a' + i / 12, 'a' + i % 12);
    path = name;
    if (!fixed) file = open_all(MPI_INFO_NULL);
    MPI_File_write_at_all(file, ((MPI_Offset)(fixed ? i : 0) * ranks + rank) * kBytes, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!fixed) MPI_File_close(&file);
  }
  path = all;
  if (fixed) MPI_File_close(&file);
  free(data);
}

/* 10,000 files: each rank writes a file of its own in each step. */
static void own_files(void) {
  enum { kFiles = 10000, kBytes = 4096 };
  char* data = filled(kBytes);
  MPI_File file = fixed ? open_all(MPI_INFO_NULL) : MPI_FILE_NULL;
  for (int step = 0; step < kFiles / ranks; ++step) {
    if (!fixed) file = open_number(MPI_COMM_SELF, step * ranks + rank);
    MPI_File_write_at(file, fixed ? ((MPI_Offset)step * ranks + rank) * kBytes : 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!fixed) MPI_File_close(&file);
  }
  if (fixed) MPI_File_close(&file);
  free(data);
}

/* Each rank writes a column of records, so its writes have holes and the ranks' data is interleaved. No hint is set. */
static void columns(void) {
  enum { kPieces = 4096, kBytes = 512, kTimes = 10 };
  const int bytes = kPieces * kBytes;
  char* data = filled(bytes);
  MPI_File file = open_all(fixed == 2 ? info_of("romio_ds_write", "disable", NULL, NULL) : MPI_INFO_NULL);
  interleave(file, kPieces, kBytes, ranks);
  for (int i = 0; i < kTimes; ++i) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    if (fixed == 1) MPI_File_write_all(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else MPI_File_write(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}

/* Collective writes of blocks with holes between them, which stay as they are. Most of such a write is meeting, which no remedy saves.
   With 2 the file may adapt. */
static void holes_together(void) {
  enum { kPieces = 64, kBytes = 4096, kTimes = 200 };
  const int every = fixed == 1 ? 1 : 2;
  char* data = filled(kPieces * kBytes);
  MPI_File file = open_all(fixed == 2 ? MPI_INFO_NULL : info_of("mercutio_adapt", "disable", NULL, NULL));
  MPI_Datatype type;
  MPI_Type_vector(kPieces, kBytes, kBytes * every * ranks, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, (MPI_Offset)rank * every * kBytes, MPI_BYTE, type, "native", MPI_INFO_NULL);
  MPI_Type_free(&type);
  for (int i = 0; i < kTimes; ++i) MPI_File_write_at_all(file, 0, data, kPieces * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
}

#include "good.h"
#include "slow.h"

static const struct {
  const char* name;
  void (*run)(void);
} kPrograms[] = {{"small_writes", small_writes},     {"small_reads", small_reads},     {"strided_reads", strided_reads},
                 {"strided_writes", strided_writes}, {"amplified_reads", amplified_reads}, {"merged_writes", merged_writes}, {"one_aggregator", one_aggregator},
                 {"straggler", straggler},           {"serial", serial},               {"reopened", reopened},
                 {"many_syncs", many_syncs},         {"same_data_read", same_data_read}, {"small_stripes", small_stripes},
                 {"misaligned", misaligned},         {"ignored_hints", ignored_hints}, {"steps", steps},
                 {"many_files", many_files},         {"columns", columns},             {"holes_together", holes_together}, {"good_collective", good_collective},
                 {"good_steps", good_steps},         {"good_little", good_little},     {"own_files", own_files},
                 {"good_reads", good_reads},         {"good_shares", good_shares},     {"good_overlap", good_overlap},
                 {"late_opens", late_opens},         {"late_syncs", late_syncs},       {"late_in_turns", late_in_turns},
                 {"small_collectives", small_collectives}, {"shared_log", shared_log}, {"good_handed_on", good_handed_on},
                 {"good_columns", good_columns},       {"half_late", half_late},         {"late_sizes", late_sizes},
                 {"resized", resized},               {"size_queries", size_queries},   {"unlike_files", unlike_files},
                 {"good_halves", good_halves},       {"good_aside", good_aside},
                 {"view_loop", view_loop},           {"setting_loop", setting_loop},   {"good_views", good_views},
                 {"slow_together", slow_together},     {"slow_alone", slow_alone}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) {
    if (rank == 0) for (size_t i = 0; i < sizeof kPrograms / sizeof *kPrograms; ++i) printf("%s\n", kPrograms[i].name);
    MPI_Finalize();
    return 2;
  }
  path = argv[2];
  fixed = argc > 3 ? atoi(argv[3]) : 0;
  const int scale = getenv("BAD_SCALE") ? atoi(getenv("BAD_SCALE")) : 1;
  for (size_t i = 0; i < sizeof kPrograms / sizeof *kPrograms; ++i) {
    for (int time = 0; time < scale && strcmp(argv[1], kPrograms[i].name) == 0; ++time) kPrograms[i].run();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime() - begin, most = 0;
  MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("seconds %.6f\n", most);
  MPI_Finalize();
  return 0;
}
