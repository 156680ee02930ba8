// The default view, and the standard's rules for a view (MPI 14.3) with the error classes that ROMIO users know:
// MPI_ERR_ARG for the displacement and a filetype not made of etypes, MPI_ERR_IO for the order of the typemap.
#include "model/view.h"

#include <algorithm>
#include <string>

namespace mercutio {
namespace {

constexpr i64 kFarthest = i64{1} << 62;  // offsets in a filetype are below it too, so that sums of both fit

std::string shown(const TypeSpecRef& spec) {
  std::string text = spec ? to_string(*spec) : "?";
  return text.size() > 160 ? text.substr(0, 157) + "..." : text;
}

// Looks for the first piece of one copy that breaks a rule, among the first million, to tell where it is.
enum class Rule { kNonNegative, kMonotone, kDisjoint };
std::string place_of(const FlatTypeRef& type, Rule rule) {
  constexpr i64 kMostPieces = 1 << 20;
  Cursor cursor(type, 0, 0, type->size());
  i64 start = INT64_MIN, end = INT64_MIN;
  for (i64 i = 0; i < kMostPieces && !cursor.done(); ++i) {
    const i64 position = cursor.position();
    const StridedRun run = cursor.next(INT64_MAX, 1);
    const bool broken = rule == Rule::kNonNegative ? run.offset < 0
                        : rule == Rule::kMonotone  ? run.offset < start
                                                   : run.offset < end;
    if (broken)
      return "data byte " + std::to_string(position) + " lies at offset " + std::to_string(run.offset) +
             (rule == Rule::kNonNegative ? std::string()
                                         : ", after " + std::to_string(run.offset < start ? start : end));
    start = run.offset;
    end = std::max(end, run.offset + run.bytes);
  }
  return "true lower bound " + std::to_string(type->true_lb()) + ", extent " + std::to_string(type->extent());
}

Status check_type(const FlatTypeRef& type, const TypeSpecRef& spec, const char* name, bool writable) {
  const auto broken = [&](const char* rule, Rule which) {
    return Error{ErrorClass::kIo,
                 std::string(name) + " " + shown(spec) + ": " + rule + " (" + place_of(type, which) + ")"};
  };
  if (!type) return Error{ErrorClass::kType, std::string(name) + ": no datatype"};
  if (type->size() == 0) return ok_status();
  if (type->true_lb() < 0) return broken("displacements must not be negative", Rule::kNonNegative);
  if (!type->monotone_once()) return broken("displacements must not decrease", Rule::kMonotone);
  if (writable && type->overlapping_once())
    return broken("must not overlap itself in a file open for writing", Rule::kDisjoint);
  return ok_status();
}

}  // namespace

FileRange View::range_of(i64 begin, i64 end) const {
  FileRange range{file_offset(begin), file_offset(end - 1) + 1};
  if (sorted()) return range;
  const i64 first = begin / filetype->size(), last = (end - 1) / filetype->size();   // copies of the filetype
  const auto begin_of = [this](i64 copy) { return displacement + copy * filetype->extent() + filetype->true_lb(); };
  const auto end_of = [&](i64 copy) { return begin_of(copy) + filetype->true_extent(); };
  if (first < last) range = {std::min(range.begin, begin_of(first + 1)), std::max(range.end, end_of(last - 1))};
  if (filetype->overlapping_once()) range = {std::min(range.begin, begin_of(first)), std::max(range.end, end_of(last))};
  return range;
}

ViewRef default_view() {
  auto view = std::make_shared<View>();
  view->etype = view->filetype = contiguous_bytes();
  view->etype_spec = view->filetype_spec = byte_type();
  return view;
}

Status check_view(const View& view, bool writable) {
  if (view.displacement < 0)
    return Error{ErrorClass::kArg,
                 "the displacement of a view must not be negative: " + std::to_string(view.displacement)};
  if (view.displacement >= kFarthest)
    return Error{ErrorClass::kArg, "the displacement of a view is beyond what a file can have: " + std::to_string(view.displacement)};
  MERCUTIO_TRY(check_type(view.etype, view.etype_spec, "etype", writable));
  MERCUTIO_TRY(check_type(view.filetype, view.filetype_spec, "filetype", writable));
  const i64 etype = view.etype->size(), filetype = view.filetype->size();
  if (etype == 0 ? filetype != 0 : filetype % etype != 0)
    return Error{ErrorClass::kArg, "the filetype (" + std::to_string(filetype) +
                                       " bytes of data) must be made of whole etypes (" + std::to_string(etype) +
                                       " bytes): " + shown(view.filetype_spec)};
  if (view.filetype->size() > 0 && view.filetype->extent() < 0)
    return Error{ErrorClass::kArg, "the extent of the filetype must not be negative: " + shown(view.filetype_spec)};
  return ok_status();
}

}  // namespace mercutio
