// A byte-range lock around each transfer, for coherence on file systems whose clients cache data, such as NFS. Locking invalidates
// cached data; unlocking writes dirty data (RFC 7530, 10.3.2).
//
// A transfer within a range that this process has locked takes no lock of its own. That range is not unlocked before the transfer
// has ended. Started transfers run synchronously.
//
// Cost: one round trip to the server for each lock and one for each unlock. A write ends when its data is on the server's stable
// storage.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Storage> make_locked(std::unique_ptr<Storage> inner);

}  // namespace mercutio
