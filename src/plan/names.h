// The names of a plan's values in hints, in `explain` and in the documentation, indexed by the enumerations.
#pragma once

namespace mercutio {

inline constexpr const char* kStrategyNames[] = {"individual", "list", "sieve", "two_phase", "dynamic", "static", "transpose"};
inline constexpr const char* kPlacementNames[] = {"rank_order", "round_robin", "stripe_aware", "cost"};
inline constexpr const char* kDomainMapNames[] = {"even", "aligned", "stripe_cyclic", "group_cyclic", "range_cyclic", "segments"};
inline constexpr const char* kExchangeNames[] = {"messages", "shared_memory", "two_layer"};
inline constexpr const char* kOrderNames[] = {"normal", "ring", "nd_shift", "nd_rank_shift"};

}  // namespace mercutio
