// A storage that tells a trace sink what it does.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

// The sink must outlive the storage and its transfers. A started transfer is recorded when it is waited for.
std::unique_ptr<Storage> make_traced(std::unique_ptr<Storage> inner, TraceSink& sink);

}  // namespace mercutio
