// The body of every data access: place it (ordered mode), then move the data, directly or through a conversion.
//
// Ordered mode: a scan of the sizes, one fetch-and-add by rank 0, one broadcast; then an ordinary collective access at
// the computed places, so the data moves in parallel. O(log P) messages beyond those of the collective access.
#include "file/operation.h"

#include <utility>

#include "file/wire.h"

namespace mercutio {
namespace {

Task<Status> place_ordered(Operation& operation) {
  const i64 mine = operation.entry ? operation.etypes : 0;
  i64 before = 0, total = 0;
  if (Status scanned = co_await exclusive_scan_sum(operation.channel, mine, before, total); !scanned)
    co_return scanned.error();
  std::vector<std::byte> message;
  Status counted = ok_status();
  if (operation.channel.comm->rank() == 0) {
    const Result<i64> base = operation.counter->fetch_add(total);
    if (!base) counted = base.error();
    WireWriter writer;
    writer.put(base ? *base : i64{-1});
    message = writer.take();
  }
  if (Status told = co_await broadcast(operation.channel, 0, message); !told) co_return told.error();
  const i64 base = WireReader(message).number();
  if (!counted) co_return counted.error();
  if (base < 0) co_return Error{ErrorClass::kOther, "rank 0 could not move the shared file pointer"};
  if (before < 0 || __builtin_add_overflow(base, before, &operation.first_etype))
    co_return Error{ErrorClass::kArg, "the accesses of the ranks before this one are too large together"};
  co_return check_reach(operation);
}

Task<Result<i64>> move_together(std::shared_ptr<Operation> operation) {
  CollectiveOptions options;
  options.atomic = operation->atomic;
  options.entry = operation->entry;
  auto moving = collective(operation->engine, operation->channel, operation->view->peers, access_of(*operation), options);
  co_return co_await moving;
}

}  // namespace

Status check_reach(Operation& operation) {
  const FileView& view = *operation.view;
  i64 end = 0;
  const bool overflow = __builtin_mul_overflow(operation.first_etype, view.etype_bytes(), &end) ||
                        __builtin_add_overflow(end, operation.file_bytes, &end);
  if (!overflow && (operation.file_bytes == 0 || end <= view.view->filetype->stream_bytes())) return ok_status();
  const i64 asked = std::exchange(operation.first_etype, 0);
  return Error{ErrorClass::kArg, "the offset is beyond what a file can have: " + std::to_string(asked)};
}

Access access_of(const Operation& operation) {
  Access access;
  access.direction = operation.direction;
  access.view = operation.view->view;
  access.position = operation.first_etype * operation.view->etype_bytes();
  if (operation.entry) {
    access.bytes = operation.file_bytes;
    access.memory = operation.memory;
  }
  return access;
}

Result<i64> perform_alone(Operation& operation) {
  if (operation.view->converts()) return convert_alone(operation);
  MERCUTIO_TRY(operation.entry);
  if (operation.file_bytes == 0) return i64{0};
  IndependentOptions options;
  options.atomic = operation.atomic;
  Result<i64> moved = independent(operation.engine, access_of(operation), options);
  if (moved) operation.file_bytes_moved = *moved;
  return moved;
}

Task<Result<i64>> perform(std::shared_ptr<Operation> operation) {
  if (!operation->collective) co_return perform_alone(*operation);
  if (operation->ordered) {
    Status placed = co_await place_ordered(*operation);
    if (operation->entry) operation->entry = std::move(placed);
  }
  if (operation->view->converts()) {
    auto converting = convert_together(operation);
    co_return co_await converting;
  }
  auto moving = move_together(operation);
  Result<i64> moved = co_await moving;
  if (moved) operation->file_bytes_moved = *moved;
  co_return moved;
}

}  // namespace mercutio
