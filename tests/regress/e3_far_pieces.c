// E3: windows between pieces that lie far apart cost nothing, in either exchange, throttled or not. There may be a billion.
#include "check.h"

typedef struct {
  const char *name, *exchange, *throttle;
} Way;

enum { kPieces = 3, kBytes = 100, kMostSeconds = 20 };

static void far_pieces(const Way *way) {
  const MPI_Aint pitch = (MPI_Aint)5 << 30;
  const char *name = ck_fresh("f");
  unsigned char data[kPieces * kBytes], got[kPieces * kBytes];
  int lengths[kPieces];
  MPI_Aint places[kPieces];
  MPI_Datatype type;
  MPI_Status status;
  MPI_Info info;
  MPI_File fh = MPI_FILE_NULL;
  for (int i = 0; i < kPieces; i++) {
    lengths[i] = kBytes;
    places[i] = i * pitch + ck_rank * kBytes;
  }
  MPI_Type_create_hindexed(kPieces, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_exchange", way->exchange);
  MPI_Info_set(info, "mercutio_throttle", way->throttle);
  MPI_Info_set(info, "cb_buffer_size", "64");
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  for (int i = 0; i < kPieces * kBytes; i++) data[i] = (unsigned char)(ck_byte_at(i) + ck_rank);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
  double start = MPI_Wtime();
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, sizeof data, MPI_BYTE, &status));
  memset(got, 0xee, sizeof got);
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, sizeof got, MPI_BYTE, &status));
  CHECK(MPI_Wtime() - start < kMostSeconds);
  CHECK_COUNT(status, MPI_BYTE, sizeof got);
  CHECK(memcmp(got, data, sizeof got) == 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPieces; i++) CHECK_BYTES(name, places[i], data + i * kBytes, kBytes);
  MPI_Info_free(&info);
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  static const Way ways[] = {{"shared", "auto", "0"},
                             {"shared_throttled", "auto", "1"},
                             {"messages", "messages", "0"},
                             {"messages_throttled", "messages", "1"}};
  ck_init(&argc, &argv);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) RUN_FOR(far_pieces, ways[i].name, &ways[i]);
  return ck_finish();
}
