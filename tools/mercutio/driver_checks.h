// What `mercutio driver check` asks of a driver itself, beside its files (storage/contract.h).
#pragma once

#include "storage/contract.h"

namespace mercutio::tool {

// At a name that is free; what is made there is removed by remove_made().
void check_errors(ContractRun& run, const Resolved& at);        // those that programs ask for
void check_permissions(ContractRun& run, const Resolved& at);   // of new files, where this machine shows them
void check_numbers(ContractRun& run, const Resolved& at);       // and what else all ranks have to be told alike
void check_endless_locks(ContractRun& run, const Resolved& at);
void check_names(ContractRun& run, const Resolved& at);         // folders, and what is in them
void check_renames(ContractRun& run, const Resolved& at);

// Whether nothing is left of what a check has made, also of one that ended in the middle.
bool remove_made(const Resolved& at);

}  // namespace mercutio::tool
