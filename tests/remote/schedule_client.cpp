#include "schedule_client.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/trace.h"

namespace mercutio::remote {
namespace {

constexpr int kPatience = 200;
constexpr i64 kCalmPatienceMs = 5'000;   // for a handshake on a busy machine
constexpr i64 kSlowNs = 5'000'000'000;

// Without an answer nobody knows, and it may still be on its way.
bool is_answer(const Error& error) {
  return error.what.find("(on ") != std::string::npos && error.what.find("is lost") == std::string::npos &&
         error.what.find("can't be made") == std::string::npos;
}

// A time-out in a session that goes on: the server was told not to do it, or ends it before anything else.
bool is_late_in_its_session(const Error& error) {
  return error.what.find("did not answer") != std::string::npos;
}

i64 total_of(const std::vector<IoPiece>& pieces) {
  i64 bytes = 0;
  for (const IoPiece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

std::string text_of(const std::vector<IoPiece>& pieces) {
  return std::to_string(pieces.size()) + " pieces, " + std::to_string(total_of(pieces)) + " bytes at " + std::to_string(pieces.front().offset);
}

}  // namespace

void Shared::fail(const std::string& text) {
  std::lock_guard guard(mutex);
  if (wrong.empty()) wrong = text;
}

bool Shared::failed() {
  std::lock_guard guard(mutex);
  return !wrong.empty();
}

Client::Client(Shared& shared, int number, std::uint64_t seed)
    : shared_(shared),
      world_(shared.world),
      number_(number),
      dice_(seed),
      own_{"own" + std::to_string(number), FileModel(0, kOwnBytes, true)},
      common_{"common", FileModel(number * kSharedBytes, kSharedBytes, false)} {}

void Client::wrong(const std::string& text) {
  note("WRONG: " + text);
  shared_.fail("client " + std::to_string(number_) + ": " + text);
}

void Client::note(const std::string& text) {
  world_.note("client " + std::to_string(number_) + ": " + text);
}

template <class Call>
auto Client::timed(const char* name, Call call) {
  doing_ = name;
  const i64 start = now_ns();
  since_ns_ = start;
  auto outcome = call();
  since_ns_ = 0;
  ++shared_.totals.operations;
  if (!outcome.ok()) ++shared_.totals.errors;
  if (outcome.ok() || is_answer(outcome.error())) is_welcome();
  const i64 took = now_ns() - start;
  if (took > kSlowNs) note(std::string(name) + " took " + std::to_string(took / 1'000'000) + " ms");
  for (i64 known = shared_.slowest_ns; took > known && !shared_.slowest_ns.compare_exchange_weak(known, took);) {
  }
  for (i64 known = shared_.totals.longest_ns; took > known && !shared_.totals.longest_ns.compare_exchange_weak(known, took);) {
  }
  return outcome;
}

// What came late came in an earlier session, and that has ended.
void Client::is_welcome() {
  if (std::exchange(welcomed_, true)) return;
  for (File* file : {&own_, &common_}) file->model.forget_late();
}

bool Client::have_session() {
  if (session_ && session_->alive()) return true;
  drop(own_);
  drop(common_);
  if (session_) shared_.totals.reconnects += session_->counts().reconnects;
  Connection connection = world_.connection();
  if (all_is_calm_) connection.patience_ms = std::max(connection.patience_ms, kCalmPatienceMs);
  auto made = Session::make(connection, 0, session_);
  if (!made) return wrong("no session: " + made.error().what), false;
  ++shared_.totals.sessions;
  note("a new session");
  session_ = std::move(*made);
  welcomed_ = false;
  return true;
}

bool Client::open(File& file) {
  if (!have_session()) return false;
  if (file.storage) return true;
  OpenOptions options;
  options.write = options.create = true;
  file.keeps = options.keeps_writes = dice_.one_in(2);
  options.reads_ahead = dice_.one_in(2);
  auto opened = timed("open", [&] { return open_remote(session_, "data/" + file.name, options); });
  note("opens " + file.name + (file.keeps ? ", writes behind" : ""), opened);
  if (!opened) return wait_ms(dice_.from_to(1, 20)), false;
  file.storage = std::move(*opened);
  return true;
}

// Nothing more will be told of what is pending.
void Client::drop(File& file) {
  told(file, Error{ErrorClass::kIo, "never told"});
  file.storage.reset();
}

void Client::told(File& file, const Status& outcome) {
  for (const int tag : file.pending) {
    if (outcome) {
      file.model.confirm(tag);
      ++shared_.totals.confirmed;
    } else {
      fail(file, tag, outcome.error());
    }
  }
  file.pending.clear();
}

void Client::fail(File& file, int tag, const Error& error) {
  const bool late = !is_answer(error) && !is_late_in_its_session(error);
  file.model.fail(tag, late);
  if (!late) return;
  ++shared_.totals.late;
  file.late_kills = world_.kills();
  file.again = file.model.ranges(tag);
}

void Client::look_for_kills(File& file) {
  if (file.model.has_late() && world_.kills() > file.late_kills) file.model.forget_late();
}

// One run, or a list, regular or not, always ascending.
std::vector<IoPiece> Client::some_pieces(const FileModel& model) {
  const i64 span = dice_.one_of<i64>({100, 5'000, 60'000, model.bytes() / 2, model.bytes()});
  const i64 begin = model.base() + dice_.below(model.bytes() - span + 1);
  const i64 bytes = std::max<i64>(1, dice_.one_in(2) ? span : 1 + dice_.below(span));
  std::vector<IoPiece> pieces;
  const i64 shape = dice_.below(3), count = shape == 0 ? 1 : dice_.from_to(2, 60), step = std::max<i64>(2, bytes / count);
  for (i64 i = 0; i < count && i * step < bytes; ++i) {
    const i64 longest = std::min(count == 1 ? bytes : step, bytes - i * step);
    const i64 length = shape == 1 ? std::max<i64>(1, longest / 2) : shape == 2 ? dice_.from_to(1, longest) : longest;
    pieces.push_back({begin + i * step, nullptr, length});
  }
  return pieces;
}

std::vector<IoPiece> Client::pieces_in(File& file, std::vector<std::byte>& memory) {
  std::vector<IoPiece> pieces;
  for (const Range& range : std::exchange(file.again, {}))
    if (range.end > range.begin) pieces.push_back({range.begin, nullptr, range.end - range.begin});
  if (pieces.empty()) pieces = some_pieces(file.model);
  memory.assign(static_cast<size_t>(total_of(pieces)), std::byte{0});
  std::byte* at = memory.data();
  for (IoPiece& piece : pieces) {
    piece.data = at;
    at += piece.bytes;
  }
  return pieces;
}

void Client::write(File& file) {
  if (!file.model.has_tags()) return read(file);
  std::vector<std::byte> memory;
  const std::vector<IoPiece> pieces = pieces_in(file, memory);
  std::vector<Range> ranges;
  for (const IoPiece& piece : pieces) ranges.push_back({piece.offset, piece.offset + piece.bytes});
  const int tag = file.model.begin_write(std::move(ranges));
  for (const IoPiece& piece : pieces)
    for (i64 i = 0; i < piece.bytes; ++i) piece.data[i] = file.model.value(tag, piece.offset + i);
  const bool behind = file.keeps && world_.connection().write_behind_bytes >= total_of(pieces);
  const bool started = dice_.one_in(4);
  const Result<i64> written =
      timed("write", [&] { return started ? file.storage->start(Direction::kWrite, pieces)->wait() : file.storage->write(pieces); });
  note("writes " + file.name + " " + std::to_string(tag) + ": " + text_of(pieces), written);
  if (written && *written != total_of(pieces)) wrong("a write tells " + std::to_string(*written) + " bytes");
  look_for_kills(file);
  if (!written) return fail(file, tag, written.error());
  if (behind) return file.pending.push_back(tag);
  file.model.confirm(tag);
  ++shared_.totals.confirmed;
}

void Client::read(File& file) {
  std::vector<std::byte> memory;
  std::vector<IoPiece> pieces = pieces_in(file, memory);
  if (dice_.one_in(2)) {   // in order, as programs do that look for what comes next
    pieces = {{file.model.base(), memory.data(), std::min<i64>(static_cast<i64>(memory.size()), file.model.bytes())}};
  }
  for (int i = 0; i < 3; ++i) {
    const Result<i64> got = timed("read", [&] { return file.storage->read(pieces); });
    note("reads " + file.name + ": " + text_of(pieces), got);
    if (!got) return;
    look_for_kills(file);
    i64 rest = *got;
    for (const IoPiece& piece : pieces) {
      const i64 here = std::min(rest, piece.bytes);
      rest -= here;
      std::string trouble = file.model.check_bytes(piece.offset, piece.data, here);
      if (trouble.empty()) trouble = file.model.check_count(piece.offset, piece.bytes, here);
      if (!trouble.empty()) return wrong("read of " + file.name + ": " + trouble);
      if (here < piece.bytes) return;
    }
    IoPiece& only = pieces.front();
    if (pieces.size() > 1 || only.offset + 2 * only.bytes > file.model.base() + file.model.bytes()) return;
    only.offset += only.bytes;
  }
}

void Client::size(File& file) {
  const Result<i64> size = timed("size", [&] { return file.storage->size(); });
  note("size of " + file.name + (size ? " " + std::to_string(*size) : ""), size);
  look_for_kills(file);
  if (const std::string trouble = size ? file.model.check_size(*size) : ""; !trouble.empty()) wrong(trouble);
}

void Client::truncate(File& file) {
  if (!file.model.has_tags() || !file.model.alone()) return size(file);
  const i64 bytes = dice_.below(file.model.bytes() + 1);
  const int tag = file.model.begin_truncate(bytes);
  const Status done = timed("set_size", [&] { return file.storage->set_size(bytes); });
  note("makes " + file.name + " " + std::to_string(bytes) + " long, " + std::to_string(tag), done);
  look_for_kills(file);
  if (done) return file.model.confirm(tag);
  fail(file, tag, done.error());
}

void Client::flush(File& file, bool sync) {
  const Status done = timed(sync ? "sync" : "flush", [&] { return sync ? file.storage->sync() : file.storage->flush(); });
  note((sync ? "syncs " : "flushes ") + file.name, done);
  look_for_kills(file);
  told(file, done);
}

void Client::close(File& file) {
  const Status done = timed("close", [&] { return file.storage->close(); });
  note("closes " + file.name, done);
  look_for_kills(file);
  told(file, done);
  file.storage.reset();
}

// A name that nobody had before: it is made once, whatever is asked how often.
void Client::once() {
  if (!have_session()) return;
  const std::string name = "once" + std::to_string(number_) + "-" + std::to_string(names_++);
  OpenOptions options;
  options.write = options.create = options.exclusive = true;
  auto made = timed("exclusive open", [&] { return open_remote(session_, "data/" + name, options); });
  note("makes " + name, made);
  if (!made && made.error().cls == ErrorClass::kFileExists) return wrong("it was there already: " + made.error().what);
  if (!made) return;
  if (!std::filesystem::exists(world_.folder() + "/" + name)) return wrong(name + " was made, but isn't there");
  made->reset();
  const auto again = timed("exclusive open", [&] { return open_remote(session_, "data/" + name, options); });
  if (again) return wrong(name + " was made twice");
  remove(name);
}

void Client::remove(const std::string& name) {
  const Result<Reply> gone = timed("delete", [&] {
    PlainRequest request;
    request.path = "data/" + name;
    Buffer message;
    put_message(message, request);
    return session_->call(Kind::kRemove, std::move(message));
  });
  note("deletes " + name, gone);
  if (gone && std::filesystem::exists(world_.folder() + "/" + name)) return wrong(name + " was deleted, but is there");
  if (!gone && gone.error().cls == ErrorClass::kNoSuchFile) wrong(name + " was deleted twice: " + gone.error().what);
}

Result<i64> Client::increment(Storage& counter, i64& before) {
  MERCUTIO_LET(const auto lock, timed("lock", [&] { return counter.lock(0, 8, true); }));
  before = shared_.counted;
  i64 value = 0;
  const IoPiece piece{0, reinterpret_cast<std::byte*>(&value), 8};
  MERCUTIO_TRY(timed("read", [&] { return counter.read(std::span(&piece, 1)); }));
  const i64 found = value++;
  ++shared_.tried_to_count;
  const Result<i64> written = timed("write", [&] { return counter.write(std::span(&piece, 1)); });
  if (!written) return written.error();
  ++shared_.counted;
  return found;
}

void Client::count() {
  if (!have_session()) return;
  OpenOptions options;
  options.write = options.create = true;
  auto counter = timed("open", [&] { return open_remote(session_, "data/counter", options); });
  if (!counter) return;
  i64 before = 0;
  const Result<i64> found = increment(**counter, before);
  note("counts" + (found ? " from " + std::to_string(*found) : ""), found);
  if (found && *found < before) wrong("under the lock: " + std::to_string(*found) + " where " + std::to_string(before) + " are counted");
}

void Client::one_operation() {
  if (dice_.one_in(12)) return once();
  if (dice_.one_in(12)) return count();
  File& file = dice_.one_in(3) ? common_ : own_;
  if (!open(file)) return;
  if (!file.again.empty() && file.model.has_tags()) return write(file);
  switch (dice_.below(16)) {
    case 0:
      return close(file);
    case 1:
    case 2:
      return flush(file, true);
    case 3:
      return flush(file, false);
    case 4:
      return size(file);
    case 5:
      return truncate(file);
    case 6:
    case 7:
    case 8:
      return read(file);
    default:
      return write(file);
  }
}

void Client::work(const std::atomic<bool>& over) {
  for (int i = 0; (i < 12 || !over) && !shared_.failed(); ++i) {
    one_operation();
    if (dice_.one_in(3)) wait_ms(dice_.from_to(1, 15));
  }
}

void Client::check() {
  all_is_calm_ = true;
  for (File* file : {&own_, &common_}) {
    if (!shared_.failed()) check(*file);
  }
  if (session_) shared_.totals.reconnects += session_->counts().reconnects;
}

// The session may have to find out yet that it is lost, and a time-out be shorter than a busy machine's pauses.
void Client::check(File& file) {
  for (int i = 0; i < kPatience && !open(file); ++i) {
  }
  if (!file.storage) return wrong(file.name + " can't be opened though all is calm");
  flush(file, true);   // tells an error of before
  close(file);
  std::vector<std::byte> memory(static_cast<size_t>(file.model.bytes()));
  const IoPiece all{file.model.base(), memory.data(), file.model.bytes()};
  Result<i64> got = Error{};
  for (int i = 0; i < kPatience && !got; ++i)
    if (open(file)) got = timed("read", [&] { return file.storage->read(std::span(&all, 1)); });
  if (!got) return wrong(file.name + " can't be read though all is calm: " + got.error().what);
  look_for_kills(file);
  std::string trouble = file.model.check_bytes(all.offset, all.data, *got);
  if (trouble.empty()) trouble = file.model.check_count(all.offset, all.bytes, *got);
  if (trouble.empty()) trouble = file.model.check_size(static_cast<i64>(std::filesystem::file_size(world_.folder() + "/" + file.name)));
  if (!trouble.empty()) return wrong("at the end of " + file.name + ": " + trouble);
  close(file);
}

}  // namespace mercutio::remote
