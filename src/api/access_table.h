// The 28 data-access procedures of MPI-4.1 section 14.4, one row each. A row stands for a procedure and its _c twin.
//   name, direction, positioning, collective
// clang-format off
#define MERCUTIO_BLOCKING_EXPLICIT(ROW)               \
  ROW(read_at,      kRead,  kExplicit, false)         \
  ROW(read_at_all,  kRead,  kExplicit, true)          \
  ROW(write_at,     kWrite, kExplicit, false)         \
  ROW(write_at_all, kWrite, kExplicit, true)

#define MERCUTIO_BLOCKING_POINTER(ROW)                \
  ROW(read,          kRead,  kIndividual, false)      \
  ROW(read_all,      kRead,  kIndividual, true)       \
  ROW(write,         kWrite, kIndividual, false)      \
  ROW(write_all,     kWrite, kIndividual, true)       \
  ROW(read_shared,   kRead,  kShared,     false)      \
  ROW(write_shared,  kWrite, kShared,     false)      \
  ROW(read_ordered,  kRead,  kShared,     true)       \
  ROW(write_ordered, kWrite, kShared,     true)

#define MERCUTIO_NONBLOCKING_EXPLICIT(ROW)            \
  ROW(iread_at,      kRead,  kExplicit, false)        \
  ROW(iread_at_all,  kRead,  kExplicit, true)         \
  ROW(iwrite_at,     kWrite, kExplicit, false)        \
  ROW(iwrite_at_all, kWrite, kExplicit, true)

#define MERCUTIO_NONBLOCKING_POINTER(ROW)             \
  ROW(iread,         kRead,  kIndividual, false)      \
  ROW(iread_all,     kRead,  kIndividual, true)       \
  ROW(iwrite,        kWrite, kIndividual, false)      \
  ROW(iwrite_all,    kWrite, kIndividual, true)       \
  ROW(iread_shared,  kRead,  kShared,     false)      \
  ROW(iwrite_shared, kWrite, kShared,     false)

#define MERCUTIO_SPLIT_EXPLICIT(ROW)                  \
  ROW(read_at_all,   kRead,  kExplicit, true)         \
  ROW(write_at_all,  kWrite, kExplicit, true)

#define MERCUTIO_SPLIT_POINTER(ROW)                   \
  ROW(read_all,      kRead,  kIndividual, true)       \
  ROW(write_all,     kWrite, kIndividual, true)       \
  ROW(read_ordered,  kRead,  kShared,     true)       \
  ROW(write_ordered, kWrite, kShared,     true)
// clang-format on
