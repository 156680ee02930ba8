#include "storage/library/traits.h"

#include <limits>

#include "storage/library/library.h"

namespace mercutio {

mercutio_driver_traits default_traits(const mercutio_driver& calls) {
  mercutio_driver_traits traits{};
  traits.size = sizeof traits;
  traits.seen = MERCUTIO_DRIVER_SEEN_AT_ONCE;
  traits.locks = calls.lock ? MERCUTIO_DRIVER_LOCKS_ALL : MERCUTIO_DRIVER_LOCKS_NOBODY;
  traits.metadata_is_remote = 1;
  traits.extents_per_call = 1;
  traits.block_bytes = 4096;
  traits.first_server = -1;
  return traits;
}

Status check_traits(const std::string& driver, const mercutio_driver_traits& given) {
  struct Member {
    const char* name;
    i64 value, least, most;
  };
  constexpr i64 kAny = std::numeric_limits<i64>::max();
  const Member members[] = {{"seen", given.seen, MERCUTIO_DRIVER_SEEN_AT_ONCE, MERCUTIO_DRIVER_SEEN_AFTER_PUBLISH},
                            {"locks", given.locks, MERCUTIO_DRIVER_LOCKS_NOBODY, MERCUTIO_DRIVER_LOCKS_ALL},
                            {"extents_per_call", given.extents_per_call, 1, kAny},
                            {"block_bytes", given.block_bytes, 0, kAny},
                            {"stripe_bytes", given.stripe_bytes, 0, kAny},
                            {"stripe_count", given.stripe_count, 0, kAny},
                            {"first_server", given.first_server, -1, kAny}};
  for (const Member& member : members) {
    if (member.value >= member.least && member.value <= member.most) continue;
    const std::string range = member.most == kAny ? std::to_string(member.least) + " or more" : std::to_string(member.least) + " to " + std::to_string(member.most);
    return driver_defect(driver, std::string("get_traits says ") + member.name + " = " + std::to_string(member.value) + ", and it can be " + range);
  }
  return ok_status();
}

Traits traits_from(const std::string& driver, const mercutio_driver& calls, const mercutio_driver_traits& given) {
  Traits traits;
  traits.file_system = driver;
  traits.can_lock = calls.lock && (given.locks == MERCUTIO_DRIVER_LOCKS_NODE || given.locks == MERCUTIO_DRIVER_LOCKS_ALL);
  traits.locks_between_nodes = given.locks == MERCUTIO_DRIVER_LOCKS_ALL;
  traits.coherence = given.seen == MERCUTIO_DRIVER_SEEN_AT_ONCE      ? Coherence::kImmediate
                     : given.seen == MERCUTIO_DRIVER_SEEN_AFTER_OPEN ? Coherence::kAfterOpen
                     : given.seen == MERCUTIO_DRIVER_SEEN_AFTER_PUBLISH ? Coherence::kAfterPublish
                                                                     : Coherence::kUnknown;
  if (traits.coherence == Coherence::kAfterOpen || traits.coherence == Coherence::kUnknown)
    traits.coherence_advice = given.advice && *given.advice ? driver_text(given.advice) : "The driver's documentation may say how to change that";
  traits.metadata_is_remote = given.metadata_is_remote != 0;
  traits.caches_per_rank = true;
  traits.keeps_writes = given.keeps_writes != 0;
  traits.block_bytes = given.block_bytes > 0 ? given.block_bytes : 4096;
  traits.file_number = given.file_number;
  traits.transfers = "threads";
  return traits;
}

}  // namespace mercutio
