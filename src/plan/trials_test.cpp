// The decisions of mercutio_adapt, with times to order: what they cost, how soon they end, and that nothing worse is kept.
#include "plan/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace mercutio {
namespace {

// Costs of ways on a machine with noise: log-normal, now and then an access that takes several times as long, and drift.
class Machine {
 public:
  struct Noise {
    double sigma = 0, outliers = 0, drift = 0;   // drift: the factor by which everything has become slower after 200 calls, less one
  };
  Machine(std::vector<double> costs, Noise noise, unsigned seed) : costs_(std::move(costs)), noise_(noise), random_(seed) {}
  double true_cost(size_t way) const { return costs_[way] * (1 + noise_.drift * static_cast<double>(calls_) / 200); }
  i64 measure(size_t way) {
    double cost = true_cost(way) * std::exp(std::normal_distribution<>(0, noise_.sigma)(random_));
    if (std::uniform_real_distribution<>()(random_) < noise_.outliers) cost *= 4;
    ++calls_;
    return static_cast<i64>(cost);
  }
  double best() const { return *std::min_element(costs_.begin(), costs_.end()); }

 private:
  std::vector<double> costs_;
  Noise noise_;
  std::mt19937 random_;
  i64 calls_ = 0;
};

std::vector<Trials::Expected> all_equal(size_t ways) { return std::vector<Trials::Expected>(ways); }

struct Outcome {
  double adapted = 0, by_default = 0;   // true costs of all calls, without the noise of each
  i64 decided_at = -1;
  size_t best = 0;
};

Outcome outcome_of(Trials trials, Machine machine, i64 calls) {
  Outcome result;
  for (i64 call = 1; call <= calls; ++call) {
    const size_t way = trials.way();
    result.adapted += machine.true_cost(way);
    result.by_default += machine.true_cost(0);
    trials.saw(machine.measure(way));
    if (trials.decided() && result.decided_at < 0) result.decided_at = call;
  }
  result.best = trials.best();
  return result;
}

constexpr Machine::Noise kQuiet{0.02, 0, 0}, kBusy{0.10, 0.03, 0}, kDrifting{0.05, 0.01, 1};

TEST(Trials, WithoutNoiseTheBestIsFoundWithinTwentyCalls) {
  std::vector<double> costs{1e6, 1.3e6, 0.9e6, 1.1e6, 0.6e6, 1e6, 0.7e6, 1.8e6};
  for (size_t turn = 0; turn < 7; ++turn) {
    std::rotate(costs.begin() + 1, costs.begin() + 2, costs.end());
    const Outcome found = outcome_of(Trials(all_equal(8)), Machine(costs, {}, 1), 200);
    EXPECT_EQ(costs[found.best], 0.6e6);
    EXPECT_LE(found.decided_at, 20);
  }
}

// A way that was kept by chance has no factor, whatever the costs that decided.
TEST(Trials, AFactorNeedsPairsThatAgree) {
  i64 told = 0, kept = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Trials trials(all_equal(4));
    Machine machine({1e6, 1e6, 1e6, 1e6}, {0.5, 0.1, 0}, seed);
    for (int call = 0; call < 100; ++call) trials.saw(machine.measure(trials.way()));
    kept += trials.best() != 0 ? 1 : 0;
    told += trials.gain_percent() > 0 ? 1 : 0;
  }
  EXPECT_GT(kept, 20) << "else this test tells nothing";
  EXPECT_LE(told, 9);
  for (unsigned seed = 0; seed < 20; ++seed) {
    Trials trials(all_equal(2));
    Machine machine({1e6, 0.5e6}, kQuiet, seed);
    for (int call = 0; call < 300; ++call) trials.saw(machine.measure(trials.way()));
    EXPECT_NEAR(static_cast<double>(trials.gain_percent()), 200, 20);
  }
}

TEST(Trials, NothingBetterEndsAtOnce) {
  const Outcome found = outcome_of(Trials(all_equal(8)), Machine({1e6, 1.2e6, 1.2e6, 1.3e6, 1.2e6, 1.4e6, 1.2e6, 1.2e6}, {}, 1), 200);
  EXPECT_EQ(found.best, 0u);
  EXPECT_LE(found.decided_at, 13);
  EXPECT_LE(found.adapted, 1.03 * found.by_default);
}

// By the model, a way of another kind is nearly as fast as the default, or far faster.
TEST(Trials, AJobOfFewAccessesRisksLittle) {
  const auto first_trial = [](i64 expected) {
    Trials trials({{}, {100, expected}});
    i64 calls = 1;
    while (trials.way() == 0 && calls < 100) {
      trials.saw(1'000'000);
      ++calls;
    }
    return calls;
  };
  EXPECT_GT(first_trial(960'000), 4);
  EXPECT_LE(first_trial(960'000), 8);
  EXPECT_LE(first_trial(150'000), 4);
}

TEST(Trials, OneWayNeedsNoTrial) {
  const Trials trials(all_equal(1));
  EXPECT_TRUE(trials.decided());
  EXPECT_FALSE(trials.searches());
}

// Machines whose default is the best, among them ways that are far worse than the model says.
TEST(Trials, CostsAtMostThreePercentOverTwoHundredCalls) {
  std::mt19937 random(7);
  double most = 0, sum = 0;
  constexpr int kMachines = 400;
  for (int i = 0; i < kMachines; ++i) {
    std::vector<double> costs{1e6};
    while (costs.size() < 8) costs.push_back(1e6 * std::exp(std::uniform_real_distribution<>(0, 1)(random)));
    const Outcome found = outcome_of(Trials(all_equal(8)), Machine(costs, i % 2 == 0 ? kQuiet : kBusy, static_cast<unsigned>(i)), 200);
    most = std::max(most, found.adapted / found.by_default - 1);
    sum += found.adapted / found.by_default - 1;
  }
  EXPECT_LE(sum / kMachines, 0.03);
  EXPECT_LE(most, 0.06) << "one surprise beyond the budget at most";
}

TEST(Trials, AWayFarWorseThanTheModelSaysIsTakenOnce) {
  Trials trials(all_equal(4));
  Machine machine({1e6, 9e6, 1e6, 1e6}, {}, 1);
  i64 taken = 0;
  for (i64 call = 0; call < 400; ++call) {
    taken += trials.way() == 1 ? 1 : 0;
    trials.saw(machine.measure(trials.way()));
  }
  EXPECT_EQ(taken, 1);
}

// Of random machines on which some ways are better: what is kept, and what all calls took.
struct Verdict {
  int near = 0, slower = 0, machines = 0;
  double beyond_best = 0, beyond_default = 0;
  i64 latest = 0;
};

Verdict judge(Machine::Noise noise, unsigned seed, int machines) {
  std::mt19937 random(seed);
  Verdict verdict;
  for (int i = 0; i < machines; ++i) {
    std::vector<double> costs{1e6};
    while (costs.size() < 8) costs.push_back(1e6 * std::exp(std::uniform_real_distribution<>(-0.6, 0.6)(random)));
    const Machine machine(costs, noise, static_cast<unsigned>(i) + seed);
    const Outcome found = outcome_of(Trials(all_equal(8)), machine, 200);
    verdict.near += costs[found.best] <= 1.1 * machine.best() ? 1 : 0;
    verdict.slower += costs[found.best] > 1.02e6 ? 1 : 0;
    verdict.beyond_default += found.adapted / found.by_default - 1;
    verdict.beyond_best += found.adapted / (found.by_default * machine.best() / 1e6) - 1;
    verdict.latest = std::max(verdict.latest, found.decided_at);
    ++verdict.machines;
  }
  verdict.beyond_best /= machines;
  verdict.beyond_default /= machines;
  return verdict;
}

TEST(Trials, FindsWhatIsNearlyTheBest) {
  const Verdict quiet = judge(kQuiet, 11, 400), busy = judge(kBusy, 12, 400), drifting = judge(kDrifting, 13, 400);
  EXPECT_LE(quiet.beyond_best, 0.06) << "of all 200 calls, with the turns of the default, which is 1.7 times as slow";
  EXPECT_GE(quiet.near, 0.97 * quiet.machines);
  EXPECT_GE(busy.near, 0.8 * busy.machines);
  EXPECT_GE(drifting.near, 0.9 * drifting.machines);
  for (const Verdict* verdict : {&quiet, &busy, &drifting}) {
    EXPECT_LE(verdict->slower, verdict->machines / 100);
    EXPECT_LE(verdict->beyond_default, -0.2);
  }
}

// Equal ways: whatever is kept, it is by chance; what is worse by a little must not be.
TEST(Trials, NothingWorseIsKept) {
  int worse = 0, trials = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Outcome found = outcome_of(Trials(all_equal(8)), Machine({1e6, 1.05e6, 1.08e6, 1.05e6, 1.1e6, 1.05e6, 1.2e6, 1.06e6}, kBusy, seed), 400);
    worse += found.best != 0 ? 1 : 0;
    ++trials;
  }
  EXPECT_LE(worse, trials / 20);
}

TEST(Trials, AWinnerThatBecomesWorseIsLeft) {
  Trials trials(all_equal(3));
  Machine before({1e6, 0.5e6, 1e6}, {}, 1), after({1e6, 2e6, 1e6}, {}, 1);
  for (i64 call = 0; call < 30; ++call) trials.saw(before.measure(trials.way()));
  ASSERT_EQ(trials.best(), 1u);
  i64 calls = 0;
  for (; calls < 200 && trials.best() != 0; ++calls) trials.saw(after.measure(trials.way()));
  EXPECT_EQ(trials.best(), 0u);
  EXPECT_LE(calls, 60);
}

TEST(Trials, EqualCostsMakeEqualDecisions) {
  Trials one(all_equal(8)), other(all_equal(8));
  std::mt19937 random(3);
  for (int call = 0; call < 500; ++call) {
    ASSERT_EQ(one.way(), other.way());
    const i64 cost = static_cast<i64>(random() % 1000000);
    one.saw(cost);
    other.saw(cost);
  }
}

TEST(Trials, CostsOfAnySizeAreTaken) {
  for (const i64 cost : {i64{0}, i64{1}, i64{1} << 60}) {
    Trials trials(all_equal(8));
    for (int call = 0; call < 100; ++call) trials.saw(cost);
    EXPECT_EQ(trials.best(), 0u);
  }
}

}  // namespace
}  // namespace mercutio
