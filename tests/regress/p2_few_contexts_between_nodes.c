// P2: few communicators are left, and MPICH takes odd and even ranks for those of two nodes: the shared file pointer would like a window.
#include "few_contexts.h"

int main(int argc, char **argv) {
  setenv("MPIR_CVAR_ODD_EVEN_CLIQUES", "1", 1);
  ck_init(&argc, &argv);
  with_few_contexts_left();
  return ck_finish();
}
