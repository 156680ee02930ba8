// The open files of a process by their handles, from 1. Lock-free.
//
// A team has a file to itself for a call: the first of its threads takes the file, the last one puts it back. So nobody closes a file
// that others use, and of two teams alike that are in calls at once, one is refused.
#pragma once

#include <array>
#include <atomic>

#include "omp/team.h"

namespace mercutio::omp {

class File;

class Files {
 public:
  // kChanging: for a moment, in which nobody waits for anything.
  enum class State : int { kNone, kIdle, kInCall, kChanging };
  struct Taken {
    File* file = nullptr;
    State found = State::kNone;
    TeamId team;  // if it was kIdle
  };

  // The file, or null: there is none, a team is in a call on it, or it is another team's.
  Taken take(int handle, const TeamId& team);
  int add(File* file, const TeamId& team);  // and takes it. 0: too many files
  // By the team that has taken it: its call has ended, and then its last thread has left the call.
  void end_call(int handle) { entry(handle).state.store(State::kChanging, std::memory_order_release); }
  void put_back(int handle) { set_state(entry(handle), State::kIdle); }
  void remove(int handle) { entry(handle).state.store(State::kNone, std::memory_order_release); }

 private:
  struct Entry {
    std::atomic<State> state{State::kNone};
    File* file = nullptr;  // this and the team are of the thread that has changed kIdle or kNone
    TeamId team;
  };
  Entry& entry(int handle) { return entries_[static_cast<std::size_t>(handle) - 1]; }
  static void set_state(Entry& of, State state);

  std::array<Entry, 4096> entries_{};
};

}  // namespace mercutio::omp
