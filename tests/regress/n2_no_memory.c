// N2: a buffer that memory has no room for, on one rank, is an error of the call, of the same class on all ranks where
// the call is collective; the program goes on, and so does the file.
#include "write_limit.h"

enum { kMiB = 1 << 20, kBufferMiB = 96, kRoomMiB = 32 };

// No more than kRoomMiB beyond what the process has.
static void limit_memory(int rank) {
  long pages = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != kEveryRank && rank != ck_rank) return;
  FILE *statm = fopen("/proc/self/statm", "r");
  CHECK(statm && fscanf(statm, "%ld", &pages) == 1);
  if (statm) fclose(statm);
  struct rlimit limit;
  CHECK_INT(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = (rlim_t)pages * 4096 + (rlim_t)kRoomMiB * kMiB;
  CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
}

static void lift_memory_limit(void) {
  struct rlimit limit;
  CHECK_INT(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_File open_large(const char *name, int exchanges) {
  char buffer[32];
  MPI_Info info;
  MPI_File fh = MPI_FILE_NULL;
  snprintf(buffer, sizeof buffer, "%d", kBufferMiB * kMiB);
  MPI_Info_create(&info);
  MPI_Info_set(info, "ind_rd_buffer_size", buffer);
  MPI_Info_set(info, "ind_wr_buffer_size", buffer);
  MPI_Info_set(info, "cb_buffer_size", buffer);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "romio_ds_read", "enable");
  MPI_Info_set(info, "romio_cb_read", exchanges ? "enable" : "disable");
  MPI_Info_set(info, "romio_cb_write", exchanges ? "enable" : "disable");
  MPI_Info_set(info, "mercutio_exchange", "messages");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  return fh;
}

// Two pieces of each rank, so far apart that sieving needs the whole buffer.
static void far_view(MPI_File fh) {
  MPI_Datatype type;
  const int lengths[2] = {64, 64};
  const MPI_Aint places[2] = {0, (MPI_Aint)kBufferMiB * kMiB};
  MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, 64 * ck_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&type);
}

static void too_large(int kind) {
  const int exchanges = kind / 2, nonblocking = kind % 2;
  unsigned char data[128], got[128];
  memset(data, ck_rank + 1, sizeof data);
  MPI_File fh = open_large(ck_fresh("f"), exchanges);
  far_view(fh);
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, 0, MPI_BYTE, MPI_STATUS_IGNORE));
  limit_memory(0);
  int code;
  if (nonblocking) {
    MPI_Request request;
    code = MPI_File_iread_at_all(fh, 0, got, sizeof got, MPI_BYTE, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    code = MPI_File_read_at_all(fh, 0, got, sizeof got, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  lift_memory_limit();
  CHECK_SAME(code);
  if (ck_is_mercutio()) CHECK_CLASS(code, exchanges ? MPI_SUCCESS : MPI_ERR_NO_MEM);   // windows are smaller than that
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_at_all(fh, 64 * ck_rank, got, 64, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(got, data, 64) == 0);
  CHECK_OK(MPI_File_close(&fh));
}

static void alone(void) {
  unsigned char data[128], got[128];
  memset(data, ck_rank + 1, sizeof data);
  MPI_File fh = open_large(ck_fresh("f"), 0);
  far_view(fh);
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
  limit_memory(0);
  const int code = MPI_File_read_at(fh, 0, got, sizeof got, MPI_BYTE, MPI_STATUS_IGNORE);
  lift_memory_limit();
  if (ck_is_mercutio()) CHECK_CLASS(code, ck_rank == 0 ? MPI_ERR_NO_MEM : MPI_SUCCESS);
  CHECK_OK(MPI_File_read_at(fh, 0, got, 64, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(got, data, 64) == 0);
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  static const char *const names[] = {"individual", "individual_started", "messages", "messages_started"};
  ck_init(&argc, &argv);
  return_errors();
  const int sanitized = dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
  if (ck_is_mercutio() && !sanitized) {   // ROMIO ends the job
    RUN(alone);
    for (int kind = 0; kind < 4; kind++) RUN_FOR(too_large, names[kind], kind);
  }
  return ck_finish();
}
