// POSIX beside MPI: a file that MPI wrote and closed is read by an ordinary program of another node that opens it then, and the other way
// round. File systems of close-to-open consistency keep that, and no less; looking at a file that is still open is not asked for.
#include "storage.h"

enum { kBytes = 60000, kGenerations = 4 };

static St_Part share(int rank) { return (St_Part){rank * (long long)kBytes / ck_size, kBytes / ck_size, 0, 1}; }

static void put_generation(St_Model *model, int generation) {
  for (int rank = 0; rank < ck_size; rank++) {
    St_Part part = share(rank);
    st_put_part(model, &part, generation, rank);
  }
}

// To the end, or `room` bytes. Linux's client of CephFS may stop where the file ended before another node made it longer.
static long long read_to_the_end(int fd, unsigned char *bytes, long long room) {
  long long done = 0;
  while (done < room) {
    ssize_t got = pread(fd, bytes + done, (size_t)(room - done), done);
    if (got < 0) return -1;
    if (got == 0) break;
    done += got;
  }
  return done;
}

static void posix_reads(const char *name, const St_Model *model) {
  unsigned char *got = calloc(1, (size_t)model->size + 1);
  int fd = open(ck_on_disk(name), O_RDONLY);
  if (CHECK(fd >= 0)) {
    CHECK_INT(read_to_the_end(fd, got, model->size + 1), model->size);
    st_report(model, 0, got, model->size, __LINE__, "read by POSIX");
    close(fd);
  }
  free(got);
}

static void written_by_mpi(void) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  for (int generation = 1; generation <= kGenerations; generation++) {
    St_Part mine = share(ck_rank);
    unsigned char *buffer = st_fill(&mine, generation, ck_rank);
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
    CHECK_OK(MPI_File_write_at_all(fh, mine.first, buffer, (int)mine.bytes, MPI_BYTE, &status));
    CHECK_OK(MPI_File_close(&fh));
    free(buffer);
    put_generation(&model, generation);
    MPI_Barrier(MPI_COMM_WORLD);
    posix_reads(name, &model);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  st_closed(name, &model);
}

// Into a file that MPI made: whether a node sees at once that another one has made a new name is not the question here.
static void written_by_posix(void) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh)) return;
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int generation = 1; generation <= kGenerations; generation++) {
    put_generation(&model, generation);
    if (ck_rank == generation % ck_size) {
      int fd = open(ck_on_disk(name), O_WRONLY);
      CHECK_INT(fd < 0 ? -1 : pwrite(fd, model.bytes, (size_t)model.size, 0), model.size);
      CHECK(fd >= 0 && close(fd) == 0);
    }
    st_reopened(name, &model, "written by POSIX");
  }
  st_closed(name, &model);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(written_by_mpi);
  RUN(written_by_posix);
  return ck_finish();
}
