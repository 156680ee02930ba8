// The protocols of shared memory, each as small as it can be, under every memory order that C++ allows: Relacy runs the threads of a
// protocol in each order of their steps, and lets each load return any value that the orders permit. Each protocol holds with the orders of the
// source, and fails if one of them is weakened, so the checker would see a missing one. docs/engineers/portability.md has the arguments.
//
//   litmus                      all protocols; an error is printed with the execution that shows it
#include <cstdio>
#include <fstream>
#include <iostream>

#include <relacy/relacy.hpp>   // last: it has macros for what C++ and other libraries call otherwise

namespace {

using rl::memory_order;
using rl::mo_acq_rel;
using rl::mo_acquire;
using rl::mo_relaxed;
using rl::mo_release;
using rl::mo_seq_cst;

enum Weakened { kNothing, kFirst, kSecond };
Weakened weakened = kNothing;   // in the protocol that is checked

// The order of the source, or a weaker one if this is the place.
memory_order order(Weakened place, memory_order of_source, memory_order weaker = mo_relaxed) { return weakened == place ? weaker : of_source; }

// WindowBuffer: two ranks copy into a window's slot, the leader writes it and hands the slot back. Windows 0 and 1 use one slot.
struct Windows : rl::test_suite<Windows, 3> {
  rl::atomic<int> finished[2], completed, filled;
  rl::var<int> slot[2];
  void before() {
    for (int i = 0; i < 2; ++i) finished[i]($) = 0, slot[i]($) = 0;
    completed($) = 0, filled($) = 0;
  }
  void thread(unsigned i) { i < 2 ? rank(i) : leader(); }
  void rank(unsigned me) {
    for (int window = 0; window < 2; ++window) {
      rl::linear_backoff wait;
      while (completed($).load(order(kSecond, mo_acquire)) < window) wait.yield($);
      slot[me]($) = window + 1;
      filled($).fetch_add(1, mo_relaxed);
      finished[me]($).store(window + 1, order(kFirst, mo_release));
    }
  }
  void leader() {
    for (int window = 0; window < 2; ++window) {
      for (unsigned i = 0; i < 2; ++i) {
        rl::linear_backoff wait;
        while (finished[i]($).load(mo_acquire) <= window) wait.yield($);
      }
      for (unsigned i = 0; i < 2; ++i) RL_ASSERT(slot[i]($) == window + 1);
      RL_ASSERT(filled($).load(mo_relaxed) == 2);
      filled($).store(0, mo_relaxed);
      completed($).store(window + 1, mo_release);
    }
  }
};

// WindowBuffer::raise: of two ranks that raise their counters at once, one at least sees both, and wakes the leader.
struct Raise : rl::test_suite<Raise, 2> {
  rl::atomic<int> counters[2];
  rl::var<int> wakes[2];
  void before() {
    for (int i = 0; i < 2; ++i) counters[i]($) = 0, wakes[i]($) = 0;
  }
  void thread(unsigned i) {
    counters[i]($).store(1, order(kFirst, mo_seq_cst, mo_release));
    if (counters[1 - i]($).load(order(kSecond, mo_seq_cst, mo_acquire)) > 0) wakes[i]($) = 1;
  }
  void after() { RL_ASSERT(wakes[0]($) + wakes[1]($) > 0); }
};

// NodeArena: gathers. Each contribution follows the number of its gather, in slots that are used in turns.
struct Gathers : rl::test_suite<Gathers, 2> {
  static constexpr int kRanks = 2, kGathers = 3;
  rl::atomic<int> numbers[kRanks][2];
  rl::var<int> contributions[kRanks][2];
  void before() {
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int i = 0; i < 2; ++i) numbers[rank][i]($) = 0, contributions[rank][i]($) = 0;
    }
  }
  void thread(unsigned me) {
    for (int gather = 1; gather <= kGathers; ++gather) {
      const int slot = gather % 2;
      contributions[me][slot]($) = gather;
      numbers[me][slot]($).store(gather, order(kFirst, mo_seq_cst));
      rl::linear_backoff wait;
      while (numbers[1 - me][slot]($).load(order(kSecond, mo_seq_cst)) != gather) wait.yield($);
      for (auto& of_rank : contributions) RL_ASSERT(of_rank[slot]($) == gather);
    }
  }
};

// NodeArena: the last ranks to post wake the one that waits, unless it sees their posts.
struct Awaited : rl::test_suite<Awaited, 3> {
  rl::atomic<int> awaited, numbers[2];
  rl::var<int> sleeps, wakes[2];
  void before() {
    awaited($) = 0, sleeps($) = 0;
    for (int i = 0; i < 2; ++i) numbers[i]($) = 0, wakes[i]($) = 0;
  }
  void thread(unsigned i) { i < 2 ? post(i) : wait(); }
  void post(unsigned me) {
    numbers[me]($).store(1, order(kFirst, mo_seq_cst, mo_release));
    if (awaited($).load(order(kFirst, mo_seq_cst, mo_acquire)) == 1 && all_posted()) wakes[me]($) = 1;
  }
  void wait() {
    awaited($).store(1, order(kSecond, mo_seq_cst, mo_release));
    if (!all_posted()) sleeps($) = 1;
  }
  bool all_posted() {
    for (auto& number : numbers) {
      if (number($).load(order(kSecond, mo_seq_cst, mo_acquire)) != 1) return false;
    }
    return true;
  }
  void after() { RL_ASSERT(sleeps($) == 0 || wakes[0]($) + wakes[1]($) > 0); }
};

// SieveGate: a rank writes without a lock, or with one while the other sieves. Both change the bytes, and a lost write is a wrong sum.
struct Gate : rl::test_suite<Gate, 2> {
  static constexpr int kWrites = 2;
  rl::atomic<int> writing, sieving;
  rl::mutex range;
  rl::var<int> bytes;
  void before() { writing($) = 0, sieving($) = 0, bytes($) = 0; }
  void thread(unsigned me) {
    if (me == 1) return sieve();
    for (int i = 0; i < kWrites; ++i) write();
  }
  void write() {
    if (sieving($).load(mo_relaxed) == 0) {
      writing($).fetch_add(1, mo_seq_cst);
      const bool given = sieving($).load(order(kFirst, mo_seq_cst, mo_acquire)) == 0;
      if (given) bytes($) = bytes($) + 1;
      writing($).fetch_sub(1, order(kSecond, mo_release));
      if (given) return;
    }
    range.lock($);
    bytes($) = bytes($) + 1;
    range.unlock($);
  }
  void sieve() {
    sieving($).fetch_add(1, mo_seq_cst);
    rl::linear_backoff wait;
    while (writing($).load(mo_seq_cst) != 0) wait.yield($);
    range.lock($);
    const int read = bytes($);
    bytes($) = read + 10;
    range.unlock($);
    sieving($).fetch_sub(1, mo_release);
  }
  void after() { RL_ASSERT(bytes($) == 10 + kWrites); }
};

// NodeArena: the first rank's result after a gather; the next gather says that it was read.
struct Results : rl::test_suite<Results, 2> {
  rl::atomic<int> posted, published;
  rl::var<int> result;
  void before() { posted($) = 0, published($) = 0, result($) = 0; }
  void thread(unsigned me) {
    for (int gather = 1; gather <= 2; ++gather) {
      posted($).fetch_add(1, order(kSecond, mo_acq_rel));
      rl::linear_backoff wait;
      if (me == 0) {
        while (posted($).load(mo_acquire) < 2 * gather) wait.yield($);
        result($) = gather;
        published($).store(gather, order(kFirst, mo_release));
      } else {
        while (published($).load(mo_acquire) < gather) wait.yield($);
        RL_ASSERT(result($) == gather);
      }
    }
  }
};

// MpiSegment's bells: nobody sleeps through a ring. The futex is a lock and a queue, as in the kernel.
struct Bells : rl::test_suite<Bells, 2> {
  rl::atomic<int> rings, sleepers, counter;
  rl::mutex kernel;
  rl::condition_variable queue;
  void before() { rings($) = 0, sleepers($) = 0, counter($) = 0; }
  void thread(unsigned me) { me == 0 ? ringer() : sleeper(); }
  void ringer() {
    counter($).store(1, mo_release);
    rings($).fetch_add(1, order(kFirst, mo_seq_cst, mo_release));
    if (sleepers($).load(order(kFirst, mo_seq_cst, mo_acquire)) == 0) return;
    kernel.lock($);
    queue.notify_all($);
    kernel.unlock($);
  }
  void sleeper() {
    while (true) {
      const int seen = rings($).load(mo_seq_cst);
      if (counter($).load(mo_acquire) == 1) return;
      sleepers($).fetch_add(1, order(kSecond, mo_seq_cst));
      if (rings($).load(order(kSecond, mo_seq_cst)) == seen) {
        kernel.lock($);
        if (rings($).load(mo_relaxed) == seen) queue.wait(kernel, $);
        kernel.unlock($);
      }
      sleepers($).fetch_sub(1, mo_seq_cst);
    }
  }
};

// engine/progress/progress.cpp: whoever takes `driven` goes on with the task; `done` says that its result is there.
struct Requests : rl::test_suite<Requests, 2> {
  rl::atomic<int> driven, done;
  rl::var<int> steps;
  void before() { driven($) = 0, done($) = 0, steps($) = 0; }
  void thread(unsigned) {
    rl::linear_backoff wait;
    while (done($).load(mo_acquire) == 0) {
      if (driven($).exchange(1, order(kSecond, mo_acquire)) == 0) {
        if (done($).load(mo_relaxed) == 0) {
          steps($) = steps($) + 1;
          if (steps($) == 2) done($).store(1, order(kFirst, mo_release));
        }
        driven($).store(0, mo_release);
      }
      wait.yield($);
    }
    RL_ASSERT(steps($) == 2);
  }
};

// api/access.cpp: the access ends, and the MPI completes its generalized request; who is second frees what both have.
struct Stages : rl::test_suite<Stages, 2> {
  rl::atomic<int> stage;
  rl::var<int> result, freed;
  void before() { stage($) = 0, result($) = 0, freed($) = 0; }
  void thread(unsigned me) {
    if (me == 0) result($) = 1;
    int moving = 0;
    if (stage($).compare_exchange_strong(moving, me == 0 ? 1 : 2, order(kFirst, mo_seq_cst), order(kFirst, mo_seq_cst))) return;
    RL_ASSERT(result($) == 1);
    freed($) = freed($) + 1;
  }
  void after() { RL_ASSERT(freed($) == 1); }
};

// omp/barrier.h: the last one sees all slots, all see what it publishes.
struct Barrier : rl::test_suite<Barrier, 2> {
  rl::atomic<int> arrived, generation;
  rl::var<int> slots[2], sum;
  void before() { arrived($) = 0, generation($) = 0, slots[0]($) = 0, slots[1]($) = 0, sum($) = 0; }
  void thread(unsigned me) {
    for (int round = 1; round <= 2; ++round) {
      slots[me]($) = round;
      const int old = generation($).load(mo_acquire);
      if (arrived($).fetch_add(1, order(kFirst, mo_acq_rel)) + 1 == 2) {
        sum($) = slots[0]($) + slots[1]($);
        arrived($).store(0, mo_relaxed);
        generation($).store(old + 1, order(kSecond, mo_release));
      } else {
        rl::linear_backoff wait;
        while (generation($).load(mo_acquire) == old) wait.yield($);
      }
      RL_ASSERT(sum($) == 2 * round);
    }
  }
};

template <class Protocol>
bool holds(const char* name, Weakened place) {
  // What Relacy prints of an execution that fails. Its streams must have their memory: it counts what is allocated meanwhile.
  std::ofstream nothing("/dev/null");
  rl::test_params params;
  params.search_type = rl::sched_bound;
  params.context_bound = 3;
  params.iteration_count = 100000000;
  params.execution_depth_limit = 4000;
  params.progress_stream = &nothing;
  params.output_stream = place == kNothing ? &std::cout : static_cast<std::ostream*>(&nothing);
  weakened = place;
  const bool good = rl::simulate<Protocol>(params);
  static const char* const kWords[] = {"as it is", "the first order weakened", "the second order weakened"};
  std::printf("%-9s %-26s %s, %llu executions\n", name, kWords[place], good ? "holds" : "fails", static_cast<unsigned long long>(params.stop_iteration));
  if (good && place != kNothing) std::printf("the checker sees nothing of it\n");
  return good == (place == kNothing);
}

template <class Protocol>
bool check(const char* name, bool has_second = true) {
  bool good = holds<Protocol>(name, kNothing);
  good = holds<Protocol>(name, kFirst) && good;
  return (!has_second || holds<Protocol>(name, kSecond)) && good;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  bool good = check<Windows>("windows");
  good = check<Raise>("raise") && good;
  good = check<Gathers>("gathers") && good;
  good = check<Awaited>("awaited") && good;
  good = check<Gate>("gate") && good;
  good = check<Results>("results") && good;
  good = check<Bells>("bells") && good;
  good = check<Requests>("requests") && good;
  good = check<Stages>("stages", false) && good;
  good = check<Barrier>("barrier") && good;
  return good ? 0 : 1;
}
