#include "schedule_world.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "base/trace.h"
#include "storage/forwarding.h"

namespace mercutio::remote {
namespace {

constexpr i64 kMs = 1'000'000;

// A file on a disk that has its moments.
class Troubled final : public Forwarding {
 public:
  Troubled(std::unique_ptr<Storage> inner, std::shared_ptr<Disk> disk) : Forwarding(std::move(inner)), disk_(std::move(disk)) {}

  Result<i64> read(std::span<const IoPiece> pieces) override {
    rest();
    return inner_->read(pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    rest();
    if (!disk_->full) return inner_->write(pieces);
    IoPiece half = pieces.front();   // some of it fits yet
    half.bytes /= 2;
    if (half.bytes > 0) MERCUTIO_TRY(inner_->write(std::span(&half, 1)));
    return error_from_errno("pwrite", ENOSPC, half.offset + half.bytes);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    return Storage::start(direction, std::move(pieces));   // by the calls above
  }
  Status set_size(i64 bytes) override {
    rest();
    return inner_->set_size(bytes);
  }
  Status preallocate(i64 bytes) override {
    return disk_->full ? Status(error_from_errno("fallocate", ENOSPC)) : inner_->preallocate(bytes);
  }
  Status sync() override {
    rest();
    return disk_->fails_to_sync ? Status(error_from_errno("fdatasync", EIO)) : inner_->sync();
  }

 private:
  void rest() const {
    if (const i64 delay_us = disk_->delay_us; delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
  }
  const std::shared_ptr<Disk> disk_;
};

}  // namespace

void wait_ms(i64 ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

World::World(std::uint64_t seed) : start_ns_(now_ns()) {
  Dice dice(seed);
  char name[] = "/tmp/mercutio-schedule-XXXXXX";
  if (::mkdtemp(name)) folder_ = name;
  options_.key = *make_key();
  options_.exports = {{"data", folder_, true}};
  options_.block_bytes = dice.one_of<i64>({8 * KiB, 64 * KiB, 1 * MiB});
  options_.credit_bytes = dice.one_of<i64>({64 * KiB, 1 * MiB, 8 * MiB});
  options_.handshake_ms = 2'000;
  options_.grace_ms = dice.one_of<i64>({500, 3'000, 10'000});   // a dead client's lock is kept for so long
  options_.short_grace_ms = dice.one_of<i64>({300, 10'000});
  options_.log = [this](const std::string& line) { note("server: " + line); };
  options_.around = [disk = disk_](std::unique_ptr<Storage> inner) -> std::unique_ptr<Storage> {
    return std::make_unique<Troubled>(std::move(inner), disk);
  };
  start_server();
  far_ = std::make_unique<Relay>(server_->port());
  connection_.host = "far";
  connection_.key = options_.key;
  connection_.servers = {{"127.0.0.1", far_->port()}};
  connection_.streams = dice.from_to(1, 4);
  connection_.silence_ms = dice.one_of<i64>({250, 800, 1'500, 4'000});
  connection_.patience_ms = dice.one_of<i64>({150, 300, 20'000, 20'000});
  connection_.timeout_ms = dice.one_of<i64>({400, 300'000, 300'000, 300'000, 300'000, 300'000});
  connection_.write_behind_bytes = dice.one_of<i64>({0, 64 * KiB, 1 * MiB, 32 * MiB});
  connection_.lz4 = dice.one_in(2);
  connection_.read_ahead_bytes = dice.one_of<i64>({0, 256 * KiB, 4 * MiB});
  if (!dice.one_in(3)) return;
  router_options_.key = *make_key();
  router_options_.targets = {"127.0.0.1:*"};
  router_options_.handshake_ms = 2'000;
  start_router();
  near_ = std::make_unique<Relay>(router_->port());
  connection_.hops = {{{"127.0.0.1", near_->port()}, router_options_.key}};
}

World::~World() {
  near_.reset();
  router_.reset();
  server_.reset();
  far_.reset();
  std::filesystem::remove_all(folder_);
}

void World::start_server() {
  auto started = Server::start(options_);
  if (started) server_ = std::move(*started);
  if (started && far_) far_->set_target(server_->port());
}

void World::start_router() {
  auto started = Router::start(router_options_);
  if (started) router_ = std::move(*started);
  if (started && near_) near_->set_target(router_->port());
}

void World::kill_server(i64 down_ms) {
  server_.reset();
  ++kills_;
  note("the server is gone");
  wait_ms(down_ms);
  start_server();
}

void World::kill_router(i64 down_ms) {
  router_.reset();
  wait_ms(down_ms);
  start_router();
}

// For as long as a hasty client bears; it comes back, and then what it said before goes on to the server.
void World::abandon(Relay& relay, Dice& dice) {
  const i64 borne_ms = connection_.silence_ms + connection_.patience_ms + 100;
  note("fault: half open, and no stream; what was said comes late");
  relay.freeze();
  relay.refuse(true);
  wait_ms(borne_ms < 1'300 ? borne_ms : dice.from_to(1, 80));
  relay.refuse(false);
  wait_ms(dice.from_to(20, 300));
  note("what was said comes");
  relay.thaw();
  wait_ms(dice.from_to(10, 60));   // before anything cuts it
}

void World::fault_of_the_link(Relay& relay, Dice& dice) {
  const i64 lasts_ms = dice.one_in(6) ? dice.from_to(300, 1'200) : dice.from_to(1, 80);
  switch (dice.below(8)) {
    case 0:
      note("fault: cut");
      return relay.cut();
    case 1:
      note("fault: nothing passes for " + std::to_string(lasts_ms) + " ms");
      relay.hold_all(true);
      wait_ms(lasts_ms);
      if (dice.one_in(2)) relay.cut();
      return relay.hold_all(false);
    case 2:
      note("fault: no answers for " + std::to_string(lasts_ms) + " ms");
      relay.hold_answers(true);
      wait_ms(lasts_ms);
      if (dice.one_in(2)) relay.cut();
      return relay.hold_answers(false);
    case 3:
      note("fault: cut, and no stream for " + std::to_string(lasts_ms) + " ms");
      relay.refuse(true);
      relay.cut();
      wait_ms(lasts_ms);
      return relay.refuse(false);
    case 4:
      note("fault: half open");
      return relay.freeze();
    case 5:
      return abandon(relay, dice);
    case 6:
      note("fault: a byte is damaged");
      return relay.damage();
    default:
      note("fault: the server cuts");
      return server_->cut_streams();
  }
}

void World::fault_of_the_disk(Dice& dice) {
  const i64 lasts_ms = dice.from_to(5, 150);
  switch (dice.below(3)) {
    case 0:
      note("fault: the disk is full for " + std::to_string(lasts_ms) + " ms");
      disk_->full = true;
      wait_ms(lasts_ms);
      disk_->full = false;
      return note("the disk has room");
    case 1:
      note("fault: sync fails for " + std::to_string(lasts_ms) + " ms");
      disk_->fails_to_sync = true;
      wait_ms(lasts_ms);
      disk_->fails_to_sync = false;
      return;
    default:
      disk_->delay_us = dice.one_of<i64>({500, 5'000, 50'000, 600'000});
      note("fault: the disk takes " + std::to_string(disk_->delay_us) + " us more");
      wait_ms(lasts_ms);
      disk_->delay_us = 0;
  }
}

void World::one_fault(Dice& dice) {
  ++faults_;
  const i64 kind = dice.below(12);
  if (kind == 0) {
    note("fault: the server is killed");
    return kill_server(dice.from_to(0, 200));
  }
  if (kind == 1 && router_) {
    note("fault: the router is killed");
    return kill_router(dice.from_to(0, 200));
  }
  if (kind <= 4) return fault_of_the_disk(dice);
  fault_of_the_link(near_ && dice.one_in(2) ? *near_ : *far_, dice);
}

void World::calm() {
  disk_->full = disk_->fails_to_sync = false;
  disk_->delay_us = 0;
  for (Relay* relay : {near_.get(), far_.get()}) {
    if (!relay) continue;
    relay->hold_all(false);
    relay->hold_answers(false);
    relay->refuse(false);
    relay->cut();
  }
  note("calm");
}

void World::note(const std::string& text) {
  std::lock_guard guard(mutex_);
  notes_.push_back(std::to_string((now_ns() - start_ns_) / kMs) + " ms  " + text);
}

std::string World::notes() {
  std::lock_guard guard(mutex_);
  std::string all;
  for (const std::string& line : notes_) all += "  " + line + "\n";
  return all;
}

}  // namespace mercutio::remote
