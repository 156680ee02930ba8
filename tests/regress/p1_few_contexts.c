// P1: few communicators are left, and all ranks share memory.
#include "few_contexts.h"

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  with_few_contexts_left();
  return ck_finish();
}
