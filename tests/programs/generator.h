// What scenarios are made with: handles with views on them, accesses in sequence, and the ways to order ranks.
#pragma once

#include <vector>

#include "draw.h"
#include "generate.h"
#include "shapes.h"

namespace mercutio::programs {

class Generator {
 public:
  Generator(i64 seed, const Job& job);
  [[nodiscard]] Program run();

 private:
  struct Handle {
    int number = -1, file = 0;
    Group group = Group::kWorld;
    unsigned mode = 0;
    View view;
    bool alive = false;
  };
  enum class Ordering { kNone, kBarrier, kSync, kReopen };

  // generate.cpp
  void choose_files();
  Handle& open(int file, Group group, unsigned mode);
  Handle& some_handle();
  void set_view(Handle& handle, const View& view);
  Step& add(Op op, int handle);
  void order(Handle& handle, Ordering ordering);
  Ordering some_ordering();
  int some_info();
  void delay(Step& step);
  Step& access(Handle& handle, bool write, bool collective);
  // The etypes of a rank's part, and its place at an explicit offset.
  void set_part(Handle& handle, Step& step, int rank, Segment etypes);
  void only(Step& step, int rank);
  Synchronism some_synchronism(bool collective);
  i64 some_etypes(const Handle& handle);
  void complete_some();
  i64 slot(const Handle& handle, int rank, i64 etypes);

  // scenarios.cpp
  void mixed(Handle& handle);
  void relay(Handle& handle);
  void in_a_row(Handle& handle);
  void read_in_a_row(Handle& handle);
  void own_overwrites(Handle& handle);
  void storm(Handle& handle);
  void shared_pointer(Handle& handle);
  void sizes(Handle& handle);
  void settings(Handle& handle);
  void pointers(Handle& handle);
  void beside();
  void metered();
  void handover(Handle& handle);

  Program program_;
  Draw draw_;
  bool hints_ = false;
  i64 file_bytes_ = 100000;  // about how large files get
  std::vector<Handle> handles_;
  std::vector<int> under_way_;
};

}  // namespace mercutio::programs
