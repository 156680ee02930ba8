// The body of every data access: place it (ordered mode), then move the data, directly or through a conversion.
//
// Ordered mode: a scan of the sizes, one fetch-and-add by rank 0, one broadcast; then an ordinary collective access at
// the computed places, so the data moves in parallel. O(log P) messages beyond those of the collective access.
#include "file/operation.h"

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
  operation.first_etype = base + before;
  co_return ok_status();
}

Task<Result<i64>> perform_directly(std::shared_ptr<Operation> operation) {
  Access access;
  access.direction = operation->direction;
  access.view = operation->view->view;
  access.position = operation->first_etype * operation->view->etype_bytes();
  if (operation->entry) {
    access.bytes = operation->file_bytes;
    access.memory = operation->memory;
  }
  if (!operation->collective) {
    if (!operation->entry) co_return operation->entry.error();
    if (access.bytes == 0) co_return i64{0};
    IndependentOptions options;
    options.atomic = operation->atomic;
    co_return independent(operation->engine, access, options);
  }
  CollectiveOptions options;
  options.atomic = operation->atomic;
  options.entry = operation->entry;
  auto moving = collective(operation->engine, operation->channel, operation->view->peers, access, options);
  co_return co_await moving;
}

}  // namespace

Task<Result<i64>> perform(std::shared_ptr<Operation> operation) {
  if (operation->ordered) {
    Status placed = co_await place_ordered(*operation);
    if (operation->entry) operation->entry = std::move(placed);
  }
  if (operation->view->converts()) {
    auto converting = perform_converted(operation);
    co_return co_await converting;
  }
  auto moving = perform_directly(operation);
  Result<i64> moved = co_await moving;
  if (moved) operation->file_bytes_moved = *moved;
  co_return moved;
}

}  // namespace mercutio
