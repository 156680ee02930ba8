/* What programs call: a function for each name of src/api/symbols.txt, which hands its arguments on to the one that mercutio_table has for
   it. Before the first call that is one which asks mercutio_resolve.

   All arguments are integers and pointers, in C as in Fortran, and each has a register or 8 bytes of the stack to itself on all 64-bit
   systems that are known here: words hand them on as they are, handles that are int and handles that are pointers alike. Five words are in
   registers everywhere, so a function may have fewer parameters than its stub; more than five are exact, as those on the stack would
   be the caller's variables. On most processors an optimising compiler makes a jump of the call; where it doesn't, exceptions and the end of
   a thread pass through (-fexceptions). */
#include "stubs.h"

#define FIVE (word a, word b, word c, word d, word e), (a, b, c, d, e)
#define SIX (word a, word b, word c, word d, word e, word f), (a, b, c, d, e, f)
#define SEVEN (word a, word b, word c, word d, word e, word f, word g), (a, b, c, d, e, f, g)
#define STUB5(name, index) STUB(name, index, FIVE)
#define STUB6(name, index) STUB(name, index, SIX)
#define STUB7(name, index) STUB(name, index, SEVEN)
#define STUB(...) STUB_OF(__VA_ARGS__)

#define STUB_OF(name, index, parameters, arguments)                                                             \
  static word first_##name parameters { return ((word(*) parameters)mercutio_resolve(index))arguments; }        \
  __attribute__((visibility("default"))) word name parameters;                                                  \
  word name parameters {                                                                                        \
    return ((word(*) parameters)atomic_load_explicit(&mercutio_table[index], memory_order_acquire)) arguments; \
  }
#include "stubs.def"

#undef STUB_OF
#define STUB_OF(name, index, parameters, arguments) (void*)first_##name,
void* _Atomic mercutio_table[] = {
#include "stubs.def"
};
