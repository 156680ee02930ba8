// What the tests of a cache share: its policies, the storage behind it, and storage whose requests end when they are waited for.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "storage/cache.h"
#include "storage/drivers.h"
#include "storage/faulty.h"
#include "storage/forwarding.h"

namespace mercutio {

constexpr CachePolicy joined(i64 write_bytes, i64 read_bytes) {
  return {.write_bytes = write_bytes, .read_bytes = read_bytes, .join_bytes = write_bytes};
}
constexpr CachePolicy kBoth = joined(4096, 4096);

class CacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<Storage> open(const CachePolicy& policy = kBoth) {
    auto counted = make_faulty(plain(), plan_);
    return make_cached(std::move(counted), policy);
  }
  std::unique_ptr<Storage> plain() {
    OpenOptions options;
    options.write = options.create = true;
    return std::move(driver_->open("file", options)).value();
  }
  static Result<i64> write(Storage& storage, i64 offset, std::vector<std::byte>& data) {
    const IoPiece piece{offset, data.data(), static_cast<i64>(data.size())};
    return storage.write(std::span(&piece, 1));
  }
  static std::vector<std::byte> read(Storage& storage, i64 offset, i64 bytes) {
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    const IoPiece piece{offset, data.data(), bytes};
    data.resize(static_cast<size_t>(storage.read(std::span(&piece, 1)).value()));
    return data;
  }
  i64 operations() const { return plan_->seen; }

  std::unique_ptr<Driver> driver_ = make_memory_driver();
  std::shared_ptr<FaultPlan> plan_ = [] {
    auto plan = std::make_shared<FaultPlan>();
    plan->kinds = kFaultRead | kFaultWrite;
    return plan;
  }();
  std::vector<std::byte> ten_ = std::vector<std::byte>(10, std::byte{7});
};

// Each request waits for a message to a server. Several can be under way at a time.
class Distant final : public Forwarding {
 public:
  Distant(std::unique_ptr<Storage> inner, i64& waiting, i64& most) : Forwarding(std::move(inner)), waiting_(waiting), most_(most) {}
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    most_ = std::max(most_, ++waiting_);
    return std::make_unique<Late>(*this, direction, std::move(pieces));
  }

 private:
  class Late final : public Transfer {
   public:
    Late(Distant& owner, Direction direction, std::vector<IoPiece> pieces) : owner_(owner), direction_(direction), pieces_(std::move(pieces)) {}
    ~Late() override { (void)wait(); }
    bool done() override { return moved_.has_value(); }
    Result<i64> wait() override {
      if (!moved_) {
        moved_ = direction_ == Direction::kRead ? owner_.inner_->read(pieces_) : owner_.inner_->write(pieces_);
        --owner_.waiting_;
      }
      return *moved_;
    }

   private:
    Distant& owner_;
    const Direction direction_;
    const std::vector<IoPiece> pieces_;
    std::optional<Result<i64>> moved_;
  };
  i64 &waiting_, &most_;
};

inline CachePolicy pipelined(i64 write_bytes, i64 read_bytes) {
  Traits remote;
  remote.remote_cluster = true;
  return cache_policy(remote, write_bytes, read_bytes);
}

}  // namespace mercutio
