// What the values of a plan are called, in hints, in `explain` and in documentation; by the value of the enumeration.
#pragma once

namespace mercutio {

inline constexpr const char* kStrategyNames[] = {"individual", "list", "sieve", "two_phase", "dynamic", "static", "transpose"};
inline constexpr const char* kPlacementNames[] = {"rank_order", "round_robin", "stripe_aware", "cost"};
inline constexpr const char* kDomainMapNames[] = {"even", "aligned", "stripe_cyclic", "group_cyclic", "range_cyclic", "segments"};
inline constexpr const char* kExchangeNames[] = {"messages", "shared_memory", "two_layer"};
inline constexpr const char* kOrderNames[] = {"normal", "ring", "nd_shift", "nd_rank_shift"};

}  // namespace mercutio
