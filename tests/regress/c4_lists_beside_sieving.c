// mercutio_strategy=list is about collective accesses: independent ones, which may still be under way, are sieved. What one rank writes
// as a list into the holes of another one's sieved write stays.
#include "check.h"

enum { kPieces = 20000, kPiece = 8, kRounds = 40 };

int main(int argc, char **argv) {
  char *mine = malloc(kPieces * kPiece), *seen = malloc(kPieces * kPiece);
  MPI_File fh;
  MPI_Info info;
  MPI_Request request;
  MPI_Datatype piece, tile;
  ck_init(&argc, &argv);
  ck_case = "c4_lists_beside_sieving";
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_strategy", "list");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)ck_path("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, kPiece * ck_size, &tile);
  MPI_Type_commit(&tile);
  CHECK_OK(MPI_File_set_view(fh, kPiece * ck_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  for (int round = 0; round < kRounds; round++) {
    memset(mine, 1 + (round * ck_size + ck_rank) % 250, kPieces * kPiece);
    const int early = ck_rank % 2;   // odd ranks have everything under way when the others write all
    if (early) CHECK_OK(MPI_File_iwrite_at(fh, 0, mine, kPieces * kPiece, MPI_BYTE, &request));
    CHECK_OK(MPI_File_write_at_all(fh, 0, mine, early ? 0 : kPieces * kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    if (early) CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_read_at(fh, 0, seen, kPieces * kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    int lost = 0;
    for (int i = 0; i < kPieces * kPiece; i++) lost += seen[i] != mine[i];
    CHECK_INT(lost, 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&piece);
  MPI_Type_free(&tile);
  MPI_Info_free(&info);
  free(mine);
  free(seen);
  return ck_finish();
}
