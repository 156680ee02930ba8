// Hints with a fixed set of values. One list of words for each of them makes the enumeration, the accepted words and the printed ones.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mercutio {

#define MERCUTIO_ENUMERATOR(value, word) value,
#define MERCUTIO_WORD(value, word) word,
#define MERCUTIO_CHOICE(Type, WORDS)                                                      \
  enum class Type { WORDS(MERCUTIO_ENUMERATOR) };                                         \
  inline constexpr std::string_view k##Type##Words[] = {WORDS(MERCUTIO_WORD)};            \
  constexpr std::span<const std::string_view> words_of(Type) { return k##Type##Words; }

#define MERCUTIO_TOGGLES(WORD) WORD(kAutomatic, "automatic") WORD(kEnable, "enable") WORD(kDisable, "disable")
#define MERCUTIO_BACKENDS(WORD) WORD(kAuto, "auto") WORD(kThreads, "threads") WORD(kUring, "io_uring")
#define MERCUTIO_STRATEGIES(WORD)                                                                                            \
  WORD(kAuto, "auto") WORD(kIndividual, "individual") WORD(kList, "list") WORD(kSieve, "sieve") WORD(kTwoPhase, "two_phase") \
  WORD(kDynamic, "dynamic") WORD(kStatic, "static") WORD(kTranspose, "transpose")                                            \
  WORD(kVulcan, "vulcan") WORD(kDynamicGen2, "dynamic_gen2")   /* OMPIO's names of two_phase */
#define MERCUTIO_DOMAIN_MAPS(WORD) \
  WORD(kAuto, "auto") WORD(kEven, "even") WORD(kAligned, "aligned") WORD(kStripeCyclic, "stripe_cyclic") WORD(kGroupCyclic, "group_cyclic")
#define MERCUTIO_PLACEMENTS(WORD) \
  WORD(kAuto, "auto") WORD(kRankOrder, "rank_order") WORD(kRoundRobin, "round_robin") WORD(kStripeAware, "stripe_aware") WORD(kCost, "cost")
#define MERCUTIO_EXCHANGES(WORD) WORD(kAuto, "auto") WORD(kMessages, "messages") WORD(kSharedMemory, "shared_memory") WORD(kTwoLayer, "two_layer")
#define MERCUTIO_ORDERS(WORD) \
  WORD(kAuto, "auto") WORD(kNormal, "normal") WORD(kRing, "ring") WORD(kNodeShift, "nd_shift") WORD(kNodeRankShift, "nd_rank_shift")
#define MERCUTIO_STRIPINGS(WORD) WORD(kAuto, "auto") WORD(kDirectory, "directory")
// How accesses are made coherent on file systems whose clients cache data: the fastest correct way for the file system (auto),
// bypassing the client's cache (direct), a byte-range lock around each transfer (locks: locking invalidates cached data, unlocking
// writes it back), or whatever the file system guarantees (none).
#define MERCUTIO_COHERENCE_WAYS(WORD) WORD(kAuto, "auto") WORD(kDirect, "direct") WORD(kLocks, "locks") WORD(kNone, "none")

MERCUTIO_CHOICE(Toggle, MERCUTIO_TOGGLES)
MERCUTIO_CHOICE(AsyncBackend, MERCUTIO_BACKENDS)
MERCUTIO_CHOICE(WantedStrategy, MERCUTIO_STRATEGIES)
MERCUTIO_CHOICE(WantedDomains, MERCUTIO_DOMAIN_MAPS)
MERCUTIO_CHOICE(WantedPlacement, MERCUTIO_PLACEMENTS)
MERCUTIO_CHOICE(WantedExchange, MERCUTIO_EXCHANGES)
MERCUTIO_CHOICE(WantedOrder, MERCUTIO_ORDERS)
MERCUTIO_CHOICE(WantedStriping, MERCUTIO_STRIPINGS)
MERCUTIO_CHOICE(CoherenceWay, MERCUTIO_COHERENCE_WAYS)

#undef MERCUTIO_CHOICE
#undef MERCUTIO_WORD
#undef MERCUTIO_ENUMERATOR

template <class T>
concept Choice = requires { words_of(T{}); };

template <Choice T>
std::string word_of(T value) {
  return std::string(words_of(value)[static_cast<size_t>(value)]);
}

template <Choice T>
std::optional<T> choice_named(std::string_view word) {
  const auto words = words_of(T{});
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() ? std::nullopt : std::optional(static_cast<T>(found - words.begin()));
}

}  // namespace mercutio
