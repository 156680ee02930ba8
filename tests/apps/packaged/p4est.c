/* A forest of quadtrees with data of its own in each leaf, saved and loaded by p4est's MPI-IO. */
#include <p4est_algorithms.h>
#include <p4est_bits.h>
#include <p4est_extended.h>
#include <stdio.h>

static int refine(p4est_t *forest, p4est_topidx_t tree, p4est_quadrant_t *leaf) {
  (void)forest, (void)tree;
  return leaf->level < 4 || (leaf->level < 7 && (leaf->x >> 26) % 3 == 0);
}

static void fill(p4est_t *forest, p4est_topidx_t tree, p4est_quadrant_t *leaf) {
  double *data = leaf->p.user_data;
  (void)forest;
  data[0] = leaf->x, data[1] = leaf->y, data[2] = tree;
}

int main(int argc, char **argv) {
  p4est_connectivity_t *brick, *loaded_brick;
  p4est_t *forest, *loaded;
  sc_MPI_Init(&argc, &argv);
  sc_init(sc_MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init(NULL, SC_LP_ERROR);
  brick = p4est_connectivity_new_brick(3, 2, 0, 0);
  forest = p4est_new(sc_MPI_COMM_WORLD, brick, 3 * sizeof(double), fill, NULL);
  p4est_refine(forest, 1, refine, fill);
  p4est_partition(forest, 0, NULL);
  p4est_save("forest.p4est", forest, 1);
  loaded = p4est_load_ext("forest.p4est", sc_MPI_COMM_WORLD, 3 * sizeof(double), 1, 0, 0, NULL, &loaded_brick);
  if (forest->mpirank == 0)
    printf("%lld leaves, checksums %u %u\n", (long long)forest->global_num_quadrants, p4est_checksum(forest), p4est_checksum(loaded));
  else
    p4est_checksum(forest), p4est_checksum(loaded);
  p4est_destroy(loaded);
  p4est_destroy(forest);
  p4est_connectivity_destroy(brick);
  p4est_connectivity_destroy(loaded_brick);
  sc_finalize();
  sc_MPI_Finalize();
  return 0;
}
