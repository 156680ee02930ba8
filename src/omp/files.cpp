#include "omp/files.h"

namespace mercutio::omp {

Files::Taken Files::take(int handle, const TeamId& team) {
  if (handle < 1 || static_cast<std::size_t>(handle) > entries_.size()) return {};
  Entry& of = entry(handle);
  State found = of.state.load(std::memory_order_acquire);
  while (true) {
    if (found == State::kNone || found == State::kInCall) return {nullptr, found, {}};
    if (found == State::kIdle && of.state.compare_exchange_weak(found, State::kChanging, std::memory_order_acquire)) break;
    of.state.wait(State::kChanging, std::memory_order_acquire);
    found = of.state.load(std::memory_order_acquire);
  }
  const Taken taken{of.team == team ? of.file : nullptr, found, of.team};
  set_state(of, taken.file ? State::kInCall : State::kIdle);
  return taken;
}

int Files::add(File* file, const TeamId& team) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    State none = State::kNone;
    if (!entries_[i].state.compare_exchange_strong(none, State::kInCall, std::memory_order_acquire)) continue;
    entries_[i].file = file;
    entries_[i].team = team;
    return static_cast<int>(i) + 1;
  }
  return 0;
}

void Files::set_state(Entry& of, State state) {
  of.state.store(state, std::memory_order_release);
  of.state.notify_all();
}

}  // namespace mercutio::omp
