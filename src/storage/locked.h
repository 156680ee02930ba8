// A byte-range lock around each transfer: the way to coherence where a node keeps parts of files in its cache, as NFS clients
// do. Taking the lock forgets what is cached, giving it back writes what is dirty (RFC 7530, 10.3.2).
//
// A transfer inside of a range that this process has locked already takes no lock of its own, and that range isn't given back
// before the transfer has ended. Started transfers run at once.
//
// Cost: a round trip to the server for the lock, and one to give it back, for each transfer; a write ends when the server has it
// on stable storage.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

std::unique_ptr<Storage> make_locked(std::unique_ptr<Storage> inner);

}  // namespace mercutio
