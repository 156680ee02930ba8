#include "api/completion.h"

#include <algorithm>
#include <utility>

#include "api/call.h"

namespace mercutio {

static thread_local Completion* current = nullptr;

Completion::Completion(bool waits) : outer_(std::exchange(current, this)), waits_(waits), start_ns_(process().trace.tracer() ? now_ns() : 0) {}
Completion::~Completion() { current = outer_; }

i64 Completion::began_ns() { return current ? current->start_ns_ : 0; }

bool Completion::waits() { return current && current->waits_; }

bool Completion::collect(const void* access, MPI_File file, int code) {
  return current && guarded_or(false, [&] {
    const auto failed = current->failed();
    const bool known = std::any_of(failed.begin(), failed.end(), [&](const Failed& other) { return other.access == access; });
    if (!known) current->add({access, file, code});
    return true;
  });
}

void Completion::add(const Failed& one) {
  if (count_ < few_.size()) {
    few_[count_] = one;
  } else {
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back(one);
  }
  ++count_;
}

// The status of a failed access has its code in the tag, which has no meaning for an access.
bool Completion::take_code(MPI_Status& status) const {
  const auto is_its = [&](const Failed& failed) { return failed.code == status.MPI_TAG; };
  if (status.MPI_SOURCE != MPI_UNDEFINED || std::ranges::none_of(failed(), is_its)) return false;
  status.MPI_ERROR = std::exchange(status.MPI_TAG, MPI_UNDEFINED);
  return true;
}

// By the handler that the file has now, or if it is closed, by that of MPI_FILE_NULL. A handler may return MPI_SUCCESS.
int Completion::raise() const {
  Process& p = process();
  int last = MPI_SUCCESS;
  for (const Failed& one : failed()) {
    const int code = p.errhandlers.raise(p.handles.find(one.file), one.code);
    if (code != MPI_SUCCESS) last = code;
  }
  return last;
}

void Completion::tell(int count, MPI_Status* statuses) const {
  for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < count; ++i) (void)take_code(statuses[i]);
}

int Completion::result(int code, MPI_Status* status) const {
  if (empty()) return code;
  tell(1, status);
  const int raised = raise();
  return code != MPI_SUCCESS ? code : raised;
}

int Completion::result(int code, int count, MPI_Status* statuses) const {
  if (empty()) return code;
  for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < count; ++i)
    if (!take_code(statuses[i]) && code == MPI_SUCCESS) statuses[i].MPI_ERROR = MPI_SUCCESS;
  const int raised = raise();
  return code == MPI_SUCCESS && raised != MPI_SUCCESS ? MPI_ERR_IN_STATUS : code;
}

}  // namespace mercutio
