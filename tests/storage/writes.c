// What ranks of different nodes write into one file arrives, whatever shape and way: contiguous shares that meet in the middle of a
// page, records that interleave within pages, holes, views that are sieved. Read back by the other ranks while the file is
// open, after it was opened again, and on the server.
#include "storage.h"

enum { kCollective, kIndependent, kNonblocking, kNonblockingCollective, kSplit, kSieved, kPieces, kWriteOnly, kWays };

static const char *const kWayNames[kWays] = {"collective", "independent", "nonblocking", "nonblocking_collective", "split", "sieved", "pieces", "write_only"};

typedef struct {
  const char *name;
  long long first, bytes, gap, records;   // a round: a record of each rank, then the gap
  int filled;                             // the file is there already, longer than what is written
} Shape;

static const Shape kShapes[] = {
    {"contiguous", 0, 1000003, 0, 1, 0},
    {"contiguous_100", 0, 100, 0, 1, 0},
    {"contiguous_page", 0, 4096, 0, 1, 0},
    {"unaligned", 777, 100001, 0, 1, 0},
    {"interleaved_64", 0, 64, 0, 2000, 0},
    {"interleaved_1000", 5, 1000, 0, 200, 0},
    {"interleaved_page", 0, 4096, 0, 100, 0},
    {"interleaved_64k", 0, 65536, 0, 8, 0},
    {"holes", 100, 300, 700, 200, 0},
    {"large_holes", 10, 5000, 20000, 20, 0},
    {"filled_holes", 100, 300, 700, 200, 1},
    {"filled_large_holes", 10, 5000, 20000, 20, 1},
    {"filled_interleaved_64", 0, 64, 0, 2000, 1},
};

static int way;

static St_Part part_of(const Shape *shape, int rank) {
  return (St_Part){shape->first + rank * shape->bytes, shape->bytes, ck_size * shape->bytes + shape->gap, shape->records};
}

static void write_pieces(MPI_File fh, const St_Part *part, const unsigned char *buffer) {
  MPI_Status status;
  for (long long r = 0; r < part->records; r++) {
    CHECK_OK(MPI_File_write_at(fh, part->first + r * part->stride, buffer + r * part->bytes, (int)part->bytes, MPI_BYTE, &status));
    CHECK_COUNT(status, MPI_BYTE, part->bytes);
  }
}

// In the view of the rank's part.
static void write_view(MPI_File fh, const unsigned char *buffer, int count) {
  MPI_Status status;
  MPI_Request request;
  switch (way) {
    case kCollective: CHECK_OK(MPI_File_write_at_all(fh, 0, buffer, count, MPI_BYTE, &status)); break;
    case kSplit:
      CHECK_OK(MPI_File_write_at_all_begin(fh, 0, buffer, count, MPI_BYTE));
      CHECK_OK(MPI_File_write_at_all_end(fh, buffer, &status));
      break;
    case kNonblocking:
      CHECK_OK(MPI_File_iwrite_at(fh, 0, buffer, count, MPI_BYTE, &request));
      CHECK_OK(MPI_Wait(&request, &status));
      break;
    case kNonblockingCollective:
      CHECK_OK(MPI_File_iwrite_at_all(fh, 0, buffer, count, MPI_BYTE, &request));
      CHECK_OK(MPI_Wait(&request, &status));
      break;
    default: CHECK_OK(MPI_File_write_at(fh, 0, buffer, count, MPI_BYTE, &status)); break;
  }
  CHECK_COUNT(status, MPI_BYTE, count);
}

static void write_part(MPI_File fh, const St_Part *part, int generation) {
  MPI_Datatype filetype;
  unsigned char *buffer = st_fill(part, generation, ck_rank);
  if (way == kPieces || way == kWriteOnly) {
    write_pieces(fh, part, buffer);
  } else {
    MPI_Type_create_hvector((int)part->records, (int)part->bytes, part->stride, MPI_BYTE, &filetype);
    MPI_Type_commit(&filetype);
    CHECK_OK(MPI_File_set_view(fh, part->first, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    write_view(fh, buffer, (int)st_part_bytes(part));
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Type_free(&filetype);
  }
  free(buffer);
}

// Sieving reads and writes what lies between the rank's records, which belongs to the others.
static MPI_Info info_of_way(void) {
  MPI_Info info = MPI_INFO_NULL;
  if (way == kSieved) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "mercutio_strategy", "sieve");
  }
  return info;
}

// By the last rank; every rank then has the end of it in its cache.
static void fill_before(const char *name, St_Model *model) {
  MPI_File fh;
  MPI_Status status;
  St_Part whole = {0, 600001, 0, 1};
  if (ck_rank == ck_size - 1 && CHECK_OK(MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh))) {
    unsigned char *buffer = st_fill(&whole, 0, ck_rank);
    CHECK_OK(MPI_File_write(fh, buffer, (int)whole.bytes, MPI_BYTE, &status));
    CHECK_OK(MPI_File_close(&fh));
    free(buffer);
  }
  st_put_part(model, &whole, 0, ck_size - 1);
  st_reopened(name, model, "before");
}

static void write_all(MPI_File fh, const Shape *shape, St_Model *model, int generation) {
  St_Part mine = part_of(shape, ck_rank);
  write_part(fh, &mine, generation);
  for (int rank = 0; rank < ck_size; rank++) {
    St_Part part = part_of(shape, rank);
    st_put_part(model, &part, generation, rank);
  }
}

static void run_shape(const Shape *shape) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Info info = info_of_way();
  const char *name = ck_fresh("f");
  if (shape->filled) fill_before(name, &model);
  int opened = st_open(name, MPI_MODE_CREATE | (way == kWriteOnly ? MPI_MODE_WRONLY : MPI_MODE_RDWR), info, &fh);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (!opened) return;
  write_all(fh, shape, &model, 1);
  st_sync_barrier_sync(fh);
  if (way == kWriteOnly) {   // what a rank keeps of its writes is seen when it has synced, and when it has closed
    st_reopened(name, &model, "synced");
    write_all(fh, shape, &model, 2);
  } else if (way == kCollective)
    ST_READ_ALL(fh, &model, "synced");
  else
    ST_READ(fh, &model, "synced");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

int main(int argc, char **argv) {
  static char names[kWays][sizeof kShapes / sizeof *kShapes][64];
  ck_init(&argc, &argv);
  for (way = 0; way < kWays; way++)
    for (size_t i = 0; i < sizeof kShapes / sizeof *kShapes; i++) {
      if ((way == kPieces || way == kWriteOnly) && kShapes[i].records > 200) continue;
      snprintf(names[way][i], sizeof names[way][i], "%s.%s", kWayNames[way], kShapes[i].name);
      if (!ck_begin(names[way][i])) continue;
      run_shape(&kShapes[i]);
      ck_end();
    }
  return ck_finish();
}
