#include "mpi/decode.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "base/page_allocator.h"
#include "mpi/abi_numbers.h"
#include "mpi/named_types.h"
#include "mpi/real.h"

namespace mercutio {

namespace {

// A list that MPI fills, parts of which are stored without a copy.
template <class T>
using Shared = std::shared_ptr<LargeVector<T>>;

// The result of MPI_Type_get_contents, in the order of the standard's table. A map may have millions of entries.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  Shared<int> ints;               // no list exists before memory for it has been allocated
  Shared<i64> addresses, counts;
  std::vector<MPI_Datatype> types;

  bool large() const { return !counts->empty(); }   // lengths, displacements and bounds are counts
  i64 integer(i64 i) const { return (*ints)[static_cast<std::size_t>(i)]; }
  i64 address(i64 i) const { return (*addresses)[static_cast<std::size_t>(i)]; }
  i64 number(i64 i) const { return large() ? (*counts)[static_cast<std::size_t>(i)] : integer(i); }
  NumberList numbers(i64 begin, i64 count) const {
    return large() ? NumberList(counts, begin, count) : NumberList(ints, begin, count);
  }

  // The sizes of the arrays passed to get_contents, one larger each, because an empty list needs an address, too.
  struct Sizes {
    MPI_Count ints = 0, addresses = 0, counts = 0, types = 0;
  };
  void make_room(const Sizes& sizes) {
    ints = std::make_shared<LargeVector<int>>();
    addresses = std::make_shared<Numbers>();
    counts = std::make_shared<Numbers>();
    resize(sizes, 1);
  }
  void trim(const Sizes& sizes) { resize(sizes, 0); }

 private:
  void resize(const Sizes& sizes, std::size_t more) {
    ints->resize(static_cast<std::size_t>(sizes.ints) + more);
    addresses->resize(static_cast<std::size_t>(sizes.addresses) + more);
    counts->resize(static_cast<std::size_t>(sizes.counts) + more);
    types.resize(static_cast<std::size_t>(sizes.types) + more);
  }
};

using EnvelopeLarge = int(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*);
using ContentsLarge = int(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*, MPI_Count*, MPI_Datatype*);

Error type_error(const char* what) { return Error{ErrorClass::kType, what}; }

// The large-count query is tried first. For a type made by a _c constructor the small query is an error in MPICH and aborts in
// Intel MPI.
Status read_large(MPI_Datatype type, Contents& out) {
  auto* envelope = real_function<EnvelopeLarge>("PMPI_Type_get_envelope_c");
  auto* contents = real_function<ContentsLarge>("PMPI_Type_get_contents_c");
  Contents::Sizes n;
  if (envelope(type, &n.ints, &n.addresses, &n.counts, &n.types, &out.combiner) != MPI_SUCCESS) return type_error("MPI_Type_get_envelope_c refused the datatype");
  if (out.combiner == MPI_COMBINER_NAMED) return ok_status();
  out.make_room(n);
  if (contents(type, n.ints, n.addresses, n.counts, n.types, out.ints->data(), out.addresses->data(), reinterpret_cast<MPI_Count*>(out.counts->data()), out.types.data()) != MPI_SUCCESS)
    return type_error("MPI_Type_get_contents_c refused the datatype");
  out.trim(n);
  return ok_status();
}

Status read_small(MPI_Datatype type, Contents& out) {
  int ni = 0, na = 0, nd = 0;
  if (PMPI_Type_get_envelope(type, &ni, &na, &nd, &out.combiner) != MPI_SUCCESS) return type_error("MPI_Type_get_envelope refused the datatype");
  if (out.combiner == MPI_COMBINER_NAMED) return ok_status();
  const Contents::Sizes n{ni, na, 0, nd};
  out.make_room(n);
  if (PMPI_Type_get_contents(type, ni, na, nd, out.ints->data(), out.addresses->data(), out.types.data()) != MPI_SUCCESS)
    return type_error("MPI_Type_get_contents refused the datatype");
  out.trim(n);
  return ok_status();
}

Status read_contents(MPI_Datatype type, Contents& out) {
  static const bool has_large = real_symbol("PMPI_Type_get_envelope_c") && real_symbol("PMPI_Type_get_contents_c");
  return has_large ? read_large(type, out) : read_small(type, out);
}

// Named or parametrised Fortran types, which are never freed.
bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

Distribution distribution_of(i64 value) {
  if (value == MPI_DISTRIBUTE_CYCLIC) return Distribution::kCyclic;
  return value == MPI_DISTRIBUTE_BLOCK ? Distribution::kBlock : Distribution::kNone;
}

TypeSpecRef darray_spec(const Contents& c, TypeSpecRef child) {
  const auto ints = [&c](i64 begin, i64 count) { return NumberList(c.ints, begin, count); };
  i64 dims = c.integer(2);
  // Small form: size, rank, ndims, gsizes, distribs, dargs, psizes, order. In the large form the gsizes are counts.
  NumberList gsizes = c.large() ? c.numbers(0, dims) : ints(3, dims);
  i64 at = c.large() ? 3 : 3 + dims;
  std::vector<Distribution> distributions;
  Numbers dargs;
  for (i64 i = at; i < at + dims; ++i) {
    distributions.push_back(distribution_of(c.integer(i)));
    dargs.push_back(c.integer(i + dims) == MPI_DISTRIBUTE_DFLT_DARG ? kDefaultDistributionArg : c.integer(i + dims));
  }
  bool c_order = c.integer(at + 3 * dims) == MPI_ORDER_C;
  return make_darray(c.integer(0), c.integer(1), gsizes, distributions, dargs, ints(at + 2 * dims, dims), c_order, child);
}

TypeSpecRef subarray_spec(const Contents& c, TypeSpecRef child) {
  i64 dims = c.integer(0);
  i64 at = c.large() ? 0 : 1;
  bool c_order = c.integer(c.large() ? 1 : 1 + 3 * dims) == MPI_ORDER_C;
  return make_subarray(c.numbers(at, dims), c.numbers(at + dims, dims), c.numbers(at + 2 * dims, dims), c_order, child);
}

// Types whose arguments are a list of blocks. In the large forms all lengths and displacements are counts.
TypeSpecRef block_list_spec(const Contents& c, const std::vector<TypeSpecRef>& children) {
  i64 count = c.number(0);
  bool by_block = c.combiner == MPI_COMBINER_INDEXED_BLOCK || c.combiner == MPI_COMBINER_HINDEXED_BLOCK;
  i64 displacements_at = by_block ? 2 : 1 + count;
  bool in_addresses = !c.large() && (c.combiner == MPI_COMBINER_HINDEXED || c.combiner == MPI_COMBINER_HINDEXED_BLOCK || c.combiner == MPI_COMBINER_STRUCT);
  NumberList displacements = in_addresses ? NumberList(c.addresses, 0, count) : c.numbers(displacements_at, count);
  switch (c.combiner) {
    case MPI_COMBINER_INDEXED: return make_indexed(c.numbers(1, count), std::move(displacements), children[0]);
    case MPI_COMBINER_HINDEXED: return make_hindexed(c.numbers(1, count), std::move(displacements), children[0]);
    case MPI_COMBINER_INDEXED_BLOCK: return make_indexed_block(c.number(1), std::move(displacements), children[0]);
    case MPI_COMBINER_HINDEXED_BLOCK: return make_hindexed_block(c.number(1), std::move(displacements), children[0]);
    default: return make_struct(c.numbers(1, count), std::move(displacements), children);
  }
}

TypeSpecRef spec_from(const Contents& c, const std::vector<TypeSpecRef>& children, MPI_Datatype type) {
  const auto n = [&c](i64 i) { return c.number(i); };
  switch (c.combiner) {
    case MPI_COMBINER_DUP: return make_dup(children[0]);
    case MPI_COMBINER_CONTIGUOUS: return make_contiguous(n(0), children[0]);
    case MPI_COMBINER_VECTOR: return make_vector(n(0), n(1), n(2), children[0]);
    case MPI_COMBINER_HVECTOR: return make_hvector(n(0), n(1), c.large() ? n(2) : c.address(0), children[0]);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT: return block_list_spec(c, children);
    case MPI_COMBINER_SUBARRAY: return subarray_spec(c, children[0]);
    case MPI_COMBINER_DARRAY: return darray_spec(c, children[0]);
    case MPI_COMBINER_RESIZED:
      return c.large() ? make_resized(n(0), n(1), children[0]) : make_resized(c.address(0), c.address(1), children[0]);
    case MPI_COMBINER_F90_REAL: return f90_real_spec(type, false, c.integer(0));
    case MPI_COMBINER_F90_COMPLEX: return f90_real_spec(type, true, c.integer(0));
    case MPI_COMBINER_F90_INTEGER: return sized_spec(Basic::kSigned, type);
    default: return nullptr;
  }
}

// A handle is a pointer or an integer.
std::uint64_t handle_number(MPI_Datatype type) {
  std::uint64_t number = 0;
  std::memcpy(&number, &type, sizeof type);
  return number;
}

Result<TypeSpecRef> build_spec(MPI_Datatype type, i64 depth);

Result<TypeSpecRef> child_of(const Contents& c, MPI_Datatype type, i64 depth) {
  if (!is_named(type)) return build_spec(type, depth + 1);
  // MPI-1 bounds markers have no data. The bounds of the struct are taken from the MPI below.
  if (c.combiner == MPI_COMBINER_STRUCT && is_bounds_marker(type)) return make_contiguous(0, byte_type());
  MERCUTIO_LET(DecodedType child, decode(type, MPI_COMM_NULL));   // from the cache, so that predefined_of() knows which type it is; always committed
  return std::move(child.spec);
}

// One that occurs several times is decoded once: pairs of pairs of one type, nested n deep, are 2^n types. Open MPI hides that it is the same one.
Result<std::vector<TypeSpecRef>> children_of(const Contents& c, i64 depth) {
  std::vector<TypeSpecRef> children;
  std::map<std::uint64_t, TypeSpecRef> known;
  for (const MPI_Datatype type : c.types) {
    TypeSpecRef& child = known[handle_number(type)];
    if (!child) {
      MERCUTIO_LET(child, child_of(c, type, depth));
    }
    children.push_back(child);
  }
  return children;
}

void free_contents(Contents& c) {
  for (MPI_Datatype& type : c.types)
    if (!is_named(type)) PMPI_Type_free(&type);
}

bool counts_bytes(int combiner) {
  return combiner == MPI_COMBINER_STRUCT || combiner == MPI_COMBINER_HVECTOR || combiner == MPI_COMBINER_HINDEXED ||
         combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

// An MPI may pad types to alignment if displacements are in bytes (MPICH: structs only; Open MPI: all), and may know bounds
// markers. If its lower bound or extent differs from that of the constructors, the MPI's is used.
Result<TypeSpecRef> with_bounds_of(MPI_Datatype type, TypeSpecRef spec) {
  MPI_Count lb = 0, extent = 0;
  if (PMPI_Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS) return type_error("MPI_Type_get_extent refused the datatype");
  MERCUTIO_LET(FlatTypeRef flat, FlatType::lower(*spec));
  if (flat->lb() == lb && flat->extent() == extent) {
    spec->lowered.set(std::move(flat));
    return spec;
  }
  return make_resized(lb, extent, std::move(spec));
}

Result<TypeSpecRef> build_spec(MPI_Datatype type, i64 depth) {
  if (depth > kMaxTypeDepth) return Error{ErrorClass::kType, "the datatype is nested more than " + std::to_string(kMaxTypeDepth) + " deep"};
  Contents c;
  MERCUTIO_TRY(read_contents(type, c));
  if (c.combiner == MPI_COMBINER_NAMED) {
    TypeSpecRef named = named_spec(type);
    if (!named) named = sized_spec(Basic::kByte, type);   // one that only this MPI has: moved as bytes, not converted if it has several
    return named->basic.native_bytes > 0 ? std::move(named) : make_contiguous(0, byte_type());
  }
  Result<std::vector<TypeSpecRef>> children = children_of(c, depth);
  TypeSpecRef spec = children ? spec_from(c, *children, type) : nullptr;
  free_contents(c);
  if (!children) return std::move(children).error();
  if (!spec) return type_error("a datatype constructor this library does not know");
  return counts_bytes(c.combiner) ? with_bounds_of(type, std::move(spec)) : Result<TypeSpecRef>(std::move(spec));
}

// ---- the cache: an attribute on the datatype, a TypeSpecRef ----------------------------------------------------------

// An MPI may call forget_type() while it holds an internal lock that attribute queries take as well. Therefore the mutex held
// during attribute queries is not the one that forget_type() takes.
struct TypeCache {
  std::mutex attributes;   // held to query or set an attribute, as setting one would delete the old one while another thread reads it
  // Guarded by `attributes`: predefined types, by handle. Intel MPI has one attribute for several of them, MPICH 5 keeps theirs beyond a session.
  std::map<std::uint64_t, TypeSpecRef> named;
  std::atomic<bool> forgotten{false};   // `named` is of a session that has ended, and the handles of MPI_Type_create_f90_real may be of other types
  int keyval = MPI_KEYVAL_INVALID;
  std::mutex mutex;        // guards `keyval` and what follows
  std::multimap<const TypeSpec*, MPI_Datatype> live;   // several: the program's, then duplicates of ours
  std::atomic<std::uint64_t> freed{0};   // number of types freed so far
};

// A type that this thread has looked up. Until some type is freed, its handle denotes the same type.
struct RecentType {
  MPI_Datatype type{};
  std::uint64_t freed = 0;
  const TypeSpecRef* spec = nullptr;     // the one that is kept; null: none
  const FlatTypeRef* flat = nullptr;     // null: not looked up yet
  bool named = false;                    // `flat` is set, and the type is never freed
};
thread_local constinit std::array<RecentType, 4> recent_types{};

RecentType& recent(MPI_Datatype type) {
  const auto number = handle_number(type);
  return recent_types[(number ^ number >> 6) % recent_types.size()];
}

TypeCache& cache() {
  static TypeCache* const the_cache = new TypeCache;
  return *the_cache;
}

int forget_type(MPI_Datatype type, int, void* value, void*) {
  auto* spec = static_cast<TypeSpecRef*>(value);
  cache().freed.fetch_add(1, std::memory_order_release);
  {
    std::lock_guard lock(cache().mutex);
    const auto [first, last] = cache().live.equal_range(spec->get());
    const auto found = std::find_if(first, last, [&](const auto& live) { return live.second == type; });
    if (found != last) cache().live.erase(found);
  }
  delete spec;
  return MPI_SUCCESS;
}

int type_keyval() {
  TypeCache& the_cache = cache();
  std::lock_guard lock(the_cache.mutex);
  if (the_cache.keyval == MPI_KEYVAL_INVALID)
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_type, &the_cache.keyval, nullptr);
  return the_cache.keyval;
}

// Under `attributes`.
void drop_forgotten() {
  if (!cache().forgotten.exchange(false)) return;
  std::lock_guard live(cache().mutex);
  for (const auto& [number, spec] : cache().named) cache().live.erase(spec.get());
  cache().named.clear();
}

// The spec that is kept for a type. Null: none.
const TypeSpecRef* find_kept(MPI_Datatype type) {
  drop_forgotten();
  if (const auto named = cache().named.find(handle_number(type)); named != cache().named.end()) return &named->second;
  TypeSpecRef* known = nullptr;
  int found = 0;
  return PMPI_Type_get_attr(type, type_keyval(), &known, &found) == MPI_SUCCESS && found ? known : nullptr;
}

[[gnu::noinline]] RecentType& look_up(MPI_Datatype type, std::uint64_t freed, RecentType& known) {
  std::lock_guard lock(cache().attributes);
  known = RecentType{type, freed, find_kept(type)};
  return known;
}

RecentType& find_cached(MPI_Datatype type) {
  RecentType& known = recent(type);
  const std::uint64_t freed = cache().freed.load(std::memory_order_acquire);
  return known.spec && known.type == type && known.freed == freed ? known : look_up(type, freed, known);
}

// The spec that is cached from now on: that of another thread if it was first.
TypeSpecRef cached(MPI_Datatype type, TypeSpecRef spec) {
  std::lock_guard lock(cache().attributes);
  if (const TypeSpecRef* known = find_kept(type)) return *known;
  if (is_named(type)) {
    std::lock_guard live(cache().mutex);
    cache().live.emplace(spec.get(), type);
    cache().named.emplace(handle_number(type), spec);
    return spec;
  }
  auto kept = std::make_unique<TypeSpecRef>(spec);
  const auto live = [&] {
    std::lock_guard lock(cache().mutex);
    return cache().live.emplace(spec.get(), type);
  }();
  if (PMPI_Type_set_attr(type, type_keyval(), kept.get()) == MPI_SUCCESS) {
    (void)kept.release();   // forget_type() destroys it
  } else {
    std::lock_guard lock(cache().mutex);
    cache().live.erase(live);
  }
  return spec;
}

// MPI has no query for this, but every MPI refuses to send an uncommitted type, even to MPI_PROC_NULL. `comm` returns errors.
bool is_committed(MPI_Datatype type, MPI_Comm comm) {
  if (is_named(type)) return true;
  char nothing = 0;   // never read, because no rank receives it
  int error_class = MPI_SUCCESS;
  const int code = PMPI_Send(&nothing, 1, type, MPI_PROC_NULL, 0, comm);
  return code == MPI_SUCCESS || PMPI_Error_class(code, &error_class) != MPI_SUCCESS || error_class != MPI_ERR_TYPE;
}

}  // namespace

bool is_named(MPI_Datatype type) {
  int combiner = MPI_COMBINER_NAMED;
  static const auto envelope = real_function<EnvelopeLarge>("PMPI_Type_get_envelope_c");
  if (envelope) {
    MPI_Count ni, na, nc, nd;
    return envelope(type, &ni, &na, &nc, &nd, &combiner) == MPI_SUCCESS && is_predefined(combiner);
  }
  int ni, na, nd;
  return PMPI_Type_get_envelope(type, &ni, &na, &nd, &combiner) == MPI_SUCCESS && is_predefined(combiner);
}

// Types that are not freed keep their attributes, which are not found any more. An MPI may call this as it calls forget_type().
void forget_types() {
  int keyval = MPI_KEYVAL_INVALID;
  {
    std::lock_guard lock(cache().mutex);
    std::swap(keyval, cache().keyval);
  }
  cache().forgotten = true;
  cache().freed.fetch_add(1, std::memory_order_release);
  if (keyval != MPI_KEYVAL_INVALID) PMPI_Type_free_keyval(&keyval);
}

Result<DecodedType> decode(MPI_Datatype type, MPI_Comm comm) {
  if (type == MPI_DATATYPE_NULL) return type_error("the datatype is MPI_DATATYPE_NULL");
  if (const TypeSpecRef* known = find_cached(type).spec) return DecodedType{*known};
  MERCUTIO_LET(TypeSpecRef spec, build_spec(type, 0));
  if (!is_committed(type, comm)) return DecodedType{std::move(spec), false};   // not cached: it may be committed later
  return DecodedType{cached(type, std::move(spec))};
}

Result<TypeSpecRef> decode_committed(MPI_Datatype type, MPI_Comm comm) {
  MERCUTIO_LET(DecodedType decoded, decode(type, comm));
  if (!decoded.committed) return type_error("the datatype is not committed; call MPI_Type_commit first");
  return std::move(decoded.spec);
}

NamedMemory named_memory(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return {};
  const RecentType& known = find_cached(type);
  return known.named ? NamedMemory{known.spec->get(), known.flat->get()} : NamedMemory{};
}

// The program may free a type during the call if another thread does so.
Result<MemoryType> decode_memory(MPI_Datatype type, MPI_Comm comm) {
  if (type != MPI_DATATYPE_NULL) {
    const RecentType& known = find_cached(type);
    if (known.flat) return MemoryType{*known.spec, *known.flat};
  }
  MERCUTIO_LET(TypeSpecRef spec, decode_committed(type, comm));
  MERCUTIO_LET(FlatTypeRef flat, FlatType::of(*spec));
  if (RecentType& known = find_cached(type); known.spec) known.flat = (*known.spec)->lowered.peek(), known.named = known.flat && is_named(type);
  return MemoryType{std::move(spec), std::move(flat)};
}

MPI_Datatype type_of(const TypeSpec* spec) {
  std::lock_guard lock(cache().mutex);
  const auto [first, last] = cache().live.equal_range(spec);
  return first == last ? MPI_DATATYPE_NULL : first->second;
}

KeptType::KeptType(MPI_Datatype type, MPI_Comm comm) {
  if (type == MPI_DATATYPE_NULL || is_named(type)) return;
  Result<TypeSpecRef> spec = decode_committed(type, comm);   // that of the access
  if (spec && PMPI_Type_dup(type, &type_) == MPI_SUCCESS) cached(type_, std::move(*spec));
}

KeptType::~KeptType() {
  if (type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
}

MPI_Datatype predefined_of(const TypeSpec& spec) {
  if (const MPI_Datatype known = type_of(&spec); known != MPI_DATATYPE_NULL && is_named(known)) return known;
  return predefined_like(spec);
}

}  // namespace mercutio
