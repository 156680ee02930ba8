// A team of std::thread, for tests: TSan knows the synchronisation of the standard library, but not that of libgomp.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/thread_annotations.h"
#include "omp/team.h"

namespace mercutio::omp {

class ThreadTeam final : public Team {
 public:
  explicit ThreadTeam(i64 size, i64 level = 1) : id_{size, level, 0} {}

  TeamId id() const override { return id_; }
  i64 number() const override { return own_number(); }
  bool can_meet() const override { return true; }

  void* meet(const std::function<void*()>& make) override {
    std::unique_lock lock(mutex_);
    MERCUTIO_HELD(mutex_);
    const i64 meeting = meeting_;
    // The next meeting may begin before all threads have left this one, but not the one after that.
    void*& given = given_[static_cast<size_t>(meeting % 2)];
    if (arrived_++ == 0) given = make();
    if (arrived_ == id_.size) {
      arrived_ = 0;
      ++meeting_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&]() MERCUTIO_REQUIRES(mutex_) { return meeting_ != meeting; });
    }
    return given;
  }

  // Runs body(number) on every thread of the team.
  template <class Body>
  void run(Body body) {
    std::vector<std::thread> threads;
    for (i64 number = 0; number < id_.size; ++number) {
      threads.emplace_back([this, number, &body] {
        own_number() = number;
        current() = this;
        body(static_cast<int>(number));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // The team of the calling thread; null outside run().
  static Team*& current() {
    static thread_local Team* team = nullptr;
    return team;
  }

 private:
  static i64& own_number() {
    static thread_local i64 number = 0;
    return number;
  }

  const TeamId id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  i64 arrived_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  i64 meeting_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  std::array<void*, 2> given_{};
};

}  // namespace mercutio::omp
