// M24: a matrix seen column by column: the filetype is a column, its extent one element, so that copies interleave. An access may begin behind where it
// ends. Such views are legal, the only condition is that the elements of each copy are in order.
#include "check.h"

enum { kRows = 4, kColumns = 5, kElements = kRows * kColumns };

static int of_element(int i) { return 1000 + i; }
// The place in the file of the view's element i.
static int place(int i) { return i % kRows * kColumns + i / kRows; }

static MPI_File open_transposed(MPI_Comm comm, const char *name) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Datatype column, filetype;
  MPI_Type_vector(kRows, 1, kColumns, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_open(comm, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&column);
  MPI_Type_free(&filetype);
  return fh;
}

enum { kWriteAt, kIwriteAt, kWriteAll, kSplit, kOrdered, kWays };

static void write_by(int way, MPI_File fh, int first, const int *data, int count) {
  MPI_Request request;
  MPI_Status status;
  switch (way) {
    case kWriteAt: CHECK_OK(MPI_File_write_at_all(fh, first, data, count, MPI_INT, &status)); break;
    case kIwriteAt:
      CHECK_OK(MPI_File_iwrite_at_all(fh, first, data, count, MPI_INT, &request));
      CHECK_OK(MPI_Wait(&request, &status));
      break;
    case kWriteAll:
      CHECK_OK(MPI_File_seek(fh, first, MPI_SEEK_SET));
      CHECK_OK(MPI_File_write_all(fh, data, count, MPI_INT, &status));
      break;
    case kSplit:
      CHECK_OK(MPI_File_write_at_all_begin(fh, first, data, count, MPI_INT));
      CHECK_OK(MPI_File_write_at_all_end(fh, data, &status));
      break;
    default:
      CHECK_OK(MPI_File_seek_shared(fh, first, MPI_SEEK_SET));
      CHECK_OK(MPI_File_write_ordered(fh, data, count, MPI_INT, &status));
  }
  CHECK_COUNT(status, MPI_INT, count);
}

// Rank 0 of `comm` writes and reads elements [first, first + count), the others nothing.
static void move_elements(MPI_Comm comm, const char *name, int way, int first, int count) {
  int rank = 0, data[kElements], got[kElements], all[kElements];
  MPI_Status status;
  MPI_Comm_rank(comm, &rank);
  MPI_File fh = open_transposed(comm, name);
  for (int i = 0; i < kElements; i++) data[i] = of_element(i), all[i] = -1, got[i] = -2;
  CHECK_OK(MPI_File_write_at_all(fh, 0, all, rank == 0 ? kElements : 0, MPI_INT, MPI_STATUS_IGNORE));
  const int mine = rank == 0 ? count : 0;
  write_by(way, fh, first, data + first, mine);
  CHECK_OK(MPI_File_read_at_all(fh, first, got, mine, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, mine);
  for (int i = 0; i < mine; i++) CHECK_INT(got[i], of_element(first + i));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_at_all(fh, 0, all, kElements, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < kElements; i++) CHECK_INT(all[place(i)], i >= first && i < first + count ? of_element(i) : -1);
  CHECK_OK(MPI_File_close(&fh));
}

static void all_parts(int way) {
  char tag[32], name[4096], own[4096];
  snprintf(tag, sizeof tag, "own%d", ck_rank);
  snprintf(own, sizeof own, "%s", ck_path(tag));
  snprintf(name, sizeof name, "%s", ck_fresh("f"));
  for (int first = 0; first < kElements; first += 3)
    for (int count = 1; first + count <= kElements; count += 2) {
      move_elements(MPI_COMM_WORLD, name, way, first, count);
      move_elements(MPI_COMM_SELF, own, way, first, count);
    }
}

int main(int argc, char **argv) {
  static const char *const names[kWays] = {"write_at_all", "iwrite_at_all", "write_all", "split", "ordered"};
  ck_init(&argc, &argv);
  for (int way = 0; way < kWays; way++) RUN_FOR(all_parts, names[way], way);
  return ck_finish();
}
