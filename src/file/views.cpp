// Views: from constructor trees to what the engine moves data by. Set-up costs O(size of the tree), never O(blocks),
// and one reduction of a few words; the old view stays in force until all ranks have accepted the new one.
#include <unordered_map>

#include "base/attempt.h"
#include "file/open_file.h"
#include "file/wire.h"

namespace mercutio {
namespace {

// The tree with the sizes a registered representation has in the file put where external32's stand.
class FileSizes {
 public:
  explicit FileSizes(const RegisteredDatarep& datarep) : datarep_(datarep) {}

  Result<TypeSpecRef> rewrite(const TypeSpecRef& spec) {
    if (const auto known = done_.find(spec.get()); known != done_.end()) return known->second;
    auto changed = std::make_shared<TypeSpec>(*spec);
    if (spec->combiner == Combiner::kNamed) {
      MERCUTIO_LET(changed->basic.external_bytes, extent_of(spec));
    }
    for (TypeSpecRef& child : changed->children) {
      MERCUTIO_LET(child, rewrite(child));
    }
    done_.emplace(spec.get(), changed);
    return TypeSpecRef(changed);
  }

 private:
  Result<i64> extent_of(const TypeSpecRef& named) const {
    return datarep_.file_extent ? datarep_.file_extent(named) : Result<i64>(named->basic.native_bytes);
  }
  const RegisteredDatarep& datarep_;
  std::unordered_map<const TypeSpec*, TypeSpecRef> done_;
};

i64 hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
  return static_cast<i64>(hash >> 1);
}

bool is_native(const std::string& datarep) {
  return datarep == "native" || datarep == "internal";
}

}  // namespace

Result<TypeSpecRef> with_file_sizes(const TypeSpecRef& spec, const RegisteredDatarep& datarep) {
  return FileSizes(datarep).rewrite(spec);
}

Result<FlatTypeRef> lower_for_file(const TypeSpecRef& spec, const std::string& datarep,
                                   const RegisteredDatarep* registered) {
  if (is_native(datarep) || (registered && !registered->converts())) return FlatType::of(*spec);
  if (registered == nullptr) return FlatType::lower(*spec, Sizes::kExternal32);
  MERCUTIO_LET(const TypeSpecRef sized, with_file_sizes(spec, *registered));
  return FlatType::lower(*sized, Sizes::kExternal32);
}

std::shared_ptr<const FileView> OpenFile::current_view() const {
  std::lock_guard lock(mutex_);
  return view_;
}

Result<std::shared_ptr<FileView>> OpenFile::make_view(i64 displacement, TypeSpecRef etype, TypeSpecRef filetype,
                                                      const std::string& datarep) {
  auto made = std::make_shared<FileView>();
  if (!is_native(datarep) && datarep != "external32") {
    if (context_.datareps == nullptr)
      return Error{ErrorClass::kUnsupportedDatarep, "no data representation '" + datarep + "' is registered"};
    MERCUTIO_LET(made->registered, context_.datareps->find(datarep));
  }
  if (!etype || !filetype) return Error{ErrorClass::kType, "the etype or the filetype is no datatype"};
  auto view = std::make_shared<View>();
  MERCUTIO_LET(view->displacement, resolve_displacement(displacement));
  MERCUTIO_LET(view->etype, lower_for_file(etype, datarep, made->registered.get()));
  if (etype == filetype) {
    view->filetype = view->etype;
  } else {
    MERCUTIO_LET(view->filetype, lower_for_file(filetype, datarep, made->registered.get()));
  }
  view->etype_spec = std::move(etype);
  view->filetype_spec = std::move(filetype);
  view->datarep = datarep;
  made->external32 = datarep == "external32";
  if (view->etype->size() == 0 && view->filetype->size() > 0) return Error{ErrorClass::kArg, "the etype holds no data"};
  MERCUTIO_TRY(check_view(*view, amode_.writable()));
  made->view = std::move(view);
  return made;
}

// MPI_DISPLACEMENT_CURRENT is for sequential files, and nothing else is allowed there.
Result<i64> OpenFile::resolve_displacement(i64 displacement) {
  const bool current = displacement == kDisplacementCurrent;
  if (current != amode_.sequential)
    return Error{ErrorClass::kArg, amode_.sequential
                                       ? "a file opened with MPI_MODE_SEQUENTIAL takes MPI_DISPLACEMENT_CURRENT only"
                                       : "MPI_DISPLACEMENT_CURRENT needs a file opened with MPI_MODE_SEQUENTIAL"};
  if (!current) {
    if (displacement < 0)
      return Error{ErrorClass::kArg, "the displacement is negative: " + std::to_string(displacement)};
    return displacement;
  }
  MERCUTIO_LET(const i64 etypes, shared_pointer());
  const auto now = current_view();
  i64 bytes = 0;
  if (__builtin_mul_overflow(etypes, now->etype_bytes(), &bytes)) return Error{ErrorClass::kArg, "the shared file pointer is beyond what a file can have"};
  return now->view->file_offset(bytes);
}

Status OpenFile::set_view(ViewCall call) {
  Arrival arrival{call.start_ns > 0 ? call.start_ns : trace_time()};
  Status done = change_view(std::move(call), arrival);
  trace_since(TraceKind::kView, arrival);
  return done;
}

// Until a rank has died: then the call fails anyway.
void OpenFile::wait_for_writes(const WritesUnderWay::Change& change) {
  for (i64 looks = 0; !change.may_go_on();)
    if (!pause(++looks)) return;
}

Status OpenFile::change_view(ViewCall call, Arrival& arrival) {
  if (amode_.sequential) MERCUTIO_TRY(agreed(ok_status(), &arrival));   // MPI_DISPLACEMENT_CURRENT is behind what a late rank has still to move
  Status mine = std::move(call.argument_error);
  if (mine) mine = no_split("set_view");
  const WritesUnderWay::Change change(writes_);
  wait_for_writes(change);
  Status kept = write_kept();
  if (mine) mine = std::move(kept);
  if (mine && comm_->size() > 1) mine = attempt([this] { return storage_->flush(); });
  std::shared_ptr<FileView> made;
  if (mine) {
    auto result = attempt([&] { return make_view(call.displacement, std::move(call.etype), std::move(call.filetype), call.datarep); });
    if (result) made = std::move(*result);
    if (!result) mine = result.error();
  }
  i64 lowest[] = {made ? made->view->etype->extent() : 0, hash_of(call.datarep), call.info.empty() || holds(call.info) ? 0 : 1,
                  made && !made->view->contiguous() ? 1 : 0};
  i64 highest[4] = {};
  const auto check_same = [&]() -> Status {
    if (lowest[0] != highest[0]) return Error{ErrorClass::kNotSame, "the etype's extent must be the same on all ranks"};
    if (lowest[1] != highest[1]) return Error{ErrorClass::kNotSame, "the data representation must be the same on all ranks"};
    return ok_status();
  };
  const ActionOfRankZero reset_pointer = [&](bool all_ok) { return all_ok && check_same() ? counter_->store(0) : ok_status(); };
  MERCUTIO_TRY(agreed_range(std::move(mine), lowest, highest, counter_status_ ? reset_pointer : nullptr, &arrival));
  MERCUTIO_TRY(check_same());
  Arrival silent;   // part of setting the view
  if (highest[2] == 1) MERCUTIO_TRY(change_info(call.info, ok_status(), silent));
  made->scattered = highest[3] == 1;
  std::lock_guard lock(mutex_);
  dense_view_.set(*made);
  view_ = std::move(made);
  ++views_;
  pointer_ = 0;
  if (trace_) trace_view(arrival.start_ns);
  return ok_status();
}

Result<i64> OpenFile::type_extent(const TypeSpec& type) {
  const auto now = current_view();
  // The tree is only read during the call.
  const TypeSpecRef borrowed(std::shared_ptr<void>(), &type);
  MERCUTIO_LET(const FlatTypeRef flat, lower_for_file(borrowed, now->view->datarep, now->registered.get()));
  return flat->extent();
}

}  // namespace mercutio
