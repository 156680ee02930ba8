/* The functions that programs call: one for each name of src/api/symbols.txt. Each passes its arguments to its target in mercutio_table. Before
   the first call the target is a function that calls mercutio_resolve.

   All arguments are integers and pointers, in C and in Fortran. On all supported 64-bit systems each is passed in a register or in 8 bytes of
   the stack, so words represent them, whether handles are ints or pointers. Five words are in registers everywhere, so a function may have
   fewer parameters than its stub. With more than five the numbers must be equal, because further words on the stack would be variables of
   the caller. On most processors an optimising compiler makes the call a jump. Where it does not, exceptions and thread cancellation must
   pass through the stub (-fexceptions). */
#include "stubs.h"

#define FIVE (word a, word b, word c, word d, word e), (a, b, c, d, e)
#define SIX (word a, word b, word c, word d, word e, word f), (a, b, c, d, e, f)
#define SEVEN (word a, word b, word c, word d, word e, word f, word g), (a, b, c, d, e, f, g)
#define EIGHT (word a, word b, word c, word d, word e, word f, word g, word h), (a, b, c, d, e, f, g, h)
#define NINE (word a, word b, word c, word d, word e, word f, word g, word h, word i), (a, b, c, d, e, f, g, h, i)
#define STUB5(name, index) STUB(name, index, FIVE)
#define STUB6(name, index) STUB(name, index, SIX)
#define STUB7(name, index) STUB(name, index, SEVEN)
#define STUB8(name, index) STUB(name, index, EIGHT)
#define STUB9(name, index) STUB(name, index, NINE)
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
