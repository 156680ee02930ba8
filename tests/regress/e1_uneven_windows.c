// E1: any window of an aggregator may be the largest one: the third, where the stripe is no multiple of the collective
// buffer. The message exchange made its buffers as large as the first two.
#include "check.h"

typedef struct {
  const char *name, *unit, *factor, *buffer;
  MPI_Offset from;
  int piece, pieces;   // of each rank
} Layout;

// Pieces of the ranks in turn.
static MPI_Datatype every_nth(int piece) {
  MPI_Datatype bytes, type;
  MPI_Type_contiguous(piece, MPI_BYTE, &bytes);
  MPI_Type_create_resized(bytes, 0, (MPI_Aint)piece * ck_size, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&bytes);
  return type;
}

static MPI_File open_with(const Layout *layout, const char *name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_exchange", "messages");
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Info_set(info, "striping_unit", layout->unit);
  MPI_Info_set(info, "striping_factor", layout->factor);
  MPI_Info_set(info, "cb_buffer_size", layout->buffer);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, amode, info, &fh));
  MPI_Info_free(&info);
  return fh;
}

static void uneven(const Layout *layout) {
  size_t mine = (size_t)layout->piece * layout->pieces, all = mine * ck_size;
  unsigned char *data = malloc(mine), *whole = malloc(all);
  const char *name = ck_fresh("f");
  MPI_Datatype type = every_nth(layout->piece);
  MPI_Status status;
  for (size_t i = 0; i < all; i++) whole[i] = ck_byte_at((long long)i);
  for (size_t i = 0; i < mine; i++)
    data[i] = whole[(i / layout->piece * ck_size + ck_rank) * layout->piece + i % layout->piece];
  MPI_File fh = open_with(layout, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, layout->from + ck_rank * layout->piece, MPI_BYTE, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, (int)mine, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, mine);
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK_BYTES(name, layout->from, whole, all);
  unsigned char *got = malloc(mine);
  memset(got, 0xee, mine);
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, (int)mine, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, mine);
  CHECK(memcmp(got, data, mine) == 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
  free(got);
  free(whole);
  free(data);
}

int main(int argc, char **argv) {
  static const Layout layouts[] = {{"small", "1000", "1", "512", 100, 8, 500},
                                   {"small_cyclic", "1000", "2", "512", 100, 8, 500},
                                   {"large", "1048576", "2", "1000000", 2048, 2048, 800}};
  ck_init(&argc, &argv);
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) RUN_FOR(uneven, layouts[i].name, &layouts[i]);
  return ck_finish();
}
