// A storage that opens its file when it is first needed: of a rank that will probably leave all accesses to the aggregators (ROMIO's deferred open, the
// hint romio_no_indep_rw). What it says of itself comes from a rank that has the file open.
#pragma once

#include <functional>
#include <memory>

#include "storage/storage.h"

namespace mercutio {

// What a rank that has the file open tells the others.
struct DeferredFacts {
  Traits traits;
  Layout layout;
};
using OpenLater = std::function<Result<std::unique_ptr<Storage>>()>;

// `inner`: null where the file is opened later, by `open_later`, which any thread may call once at a time. An Error of it is one of the call that needs the file;
// the next such call tries again. Nothing is opened to close, flush or sync what this rank has not used. So that all ranks plan alike, all ranks of the file
// have such a storage, and the size is a question for rank 0.
std::unique_ptr<Storage> make_deferred(std::unique_ptr<Storage> inner, OpenLater open_later, DeferredFacts facts);

}  // namespace mercutio
