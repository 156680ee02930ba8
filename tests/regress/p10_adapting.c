// mercutio_adapt, asked for or by default, tries other ways for collective accesses that are repeated: with hints of all kinds beside it, other accesses in between and
// several files at a time, in threads of their own where the MPI allows it, all ranks take the same way, and the bytes are right in each.
#include <pthread.h>

#include "check.h"

enum { kFiles = 3, kSteps = 36, kMostBlocks = 24 };

struct file_case {
  MPI_Comm comm;
  unsigned seed;
  char path[CK_NAME_BYTES];
};

static unsigned draw(unsigned *state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

static void add_hints(MPI_Info info, unsigned *state) {
  static const char *const kHints[][2] = {{"cb_nodes", "1"}, {"cb_nodes", "3"}, {"mercutio_depth", "1"}, {"mercutio_exchange", "messages"},
                                          {"romio_cb_write", "enable"}, {"cb_buffer_size", "65536"}, {"mercutio_strategy", "list"},
                                          {"romio_ds_write", "disable"}, {"mercutio_domains", "even"}};
  if (draw(state, 2)) MPI_Info_set(info, "mercutio_adapt", "enable");
  for (unsigned left = draw(state, 3); left > 0; left--) {
    const char *const *hint = kHints[draw(state, sizeof kHints / sizeof kHints[0])];
    MPI_Info_set(info, (char *)hint[0], (char *)hint[1]);
  }
}

static char content(int rank, int step, long at, unsigned seed) { return (char)(1 + (rank * 37 + step * 11 + at * 7 + (long)seed) % 251); }

static void write_step(MPI_File fh, int step, char *data, int bytes, unsigned kind) {
  MPI_Request request;
  const MPI_Offset offset = (MPI_Offset)step * bytes;
  if (kind == 0) {
    CHECK_OK(MPI_File_iwrite_at_all(fh, offset, data, bytes, MPI_BYTE, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else if (kind == 1) {
    CHECK_OK(MPI_File_write_at_all_begin(fh, offset, data, bytes, MPI_BYTE));
    CHECK_OK(MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE));
  } else if (kind == 2) {
    CHECK_OK(MPI_File_write_at(fh, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  } else {
    CHECK_OK(MPI_File_write_at_all(fh, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void *use_file(void *argument) {
  const struct file_case *const mine = argument;
  unsigned state = mine->seed;
  const int block = 1 << (6 + draw(&state, 9)), blocks = 1 + (int)draw(&state, kMostBlocks), bytes = block * blocks;
  char *data = malloc((size_t)bytes), *seen = malloc((size_t)bytes);
  MPI_Datatype piece, tile;
  MPI_Info info;
  MPI_File fh;
  MPI_Info_create(&info);
  add_hints(info, &state);
  CHECK_OK(MPI_File_open(mine->comm, (char *)mine->path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Type_contiguous(block, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)block * ck_size, &tile);
  MPI_Type_commit(&tile);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)block * ck_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  for (int step = 0; step < kSteps; step++) {
    for (long at = 0; at < bytes; at++) data[at] = content(ck_rank, step, at, mine->seed);
    write_step(fh, step, data, bytes, draw(&state, 12));
    memset(seen, 0, (size_t)bytes);
    CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)step * bytes, seen, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(seen, data, (size_t)bytes) == 0);
    if (draw(&state, 20) == 0) {
      MPI_Info change;
      MPI_Info_create(&change);
      MPI_Info_set(change, "cb_buffer_size", draw(&state, 2) ? "32768" : "4194304");
      CHECK_OK(MPI_File_set_info(fh, change));
      MPI_Info_free(&change);
    }
  }
  for (int step = 0; step < kSteps; step++) {   // all of it, by each rank itself
    CHECK_OK(MPI_File_read_at(fh, (MPI_Offset)step * bytes, seen, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    long wrong = 0;
    for (long at = 0; at < bytes; at++) wrong += seen[at] != content(ck_rank, step, at, mine->seed);
    CHECK_INT(wrong, 0);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&piece);
  MPI_Type_free(&tile);
  MPI_Info_free(&info);
  free(data);
  free(seen);
  return NULL;
}

int main(int argc, char **argv) {
  struct file_case cases[kFiles];
  pthread_t threads[kFiles];
  int level = 0;
  setenv("MERCUTIO_PROFILE", "0", 1);   // nothing is written for later runs
  ck_init(&argc, &argv);
  ck_case = "p10_adapting";
  MPI_Query_thread(&level);
  for (unsigned round = 0; round < 4; round++) {
    const int together = level == MPI_THREAD_MULTIPLE && round % 2 == 1;
    for (int i = 0; i < kFiles; i++) {
      MPI_Comm_dup(MPI_COMM_WORLD, &cases[i].comm);
      cases[i].seed = 1000 * round + 17 * (unsigned)i + 5;
      snprintf(cases[i].path, sizeof cases[i].path, "%s%d", ck_path("f"), i);
      if (!together) use_file(&cases[i]);
      if (together) CHECK_INT(pthread_create(&threads[i], NULL, use_file, &cases[i]), 0);
    }
    for (int i = 0; i < kFiles; i++) {
      if (together) pthread_join(threads[i], NULL);
      MPI_Comm_free(&cases[i].comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return ck_finish();
}
