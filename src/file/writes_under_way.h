// WritesUnderWay: the independent writes to a file that other threads of this process have under way while one sets a view, or the atomicity.
//
// Whether a write locks against data sieving, and whether it may sieve, depends on these (FileView::scattered, atomic mode). So no write by the old
// ones may meet one by the new ones:
//
//   a thread that writes   under_way += 1;  if changes is 0, writes as the file is set, then under_way -= 1
//                          otherwise:  under_way -= 1;  is cautious: does not sieve, and locks as if others did, so no byte is lost beside any other write
//   a thread that sets     changes += 1;  waits until under_way is 0;  meets the other ranks;  sets the file;  changes -= 1
//
// The increments, and the loads that follow them, are sequentially consistent: either the writer sees the change, or the change sees the writer.
// No rank has set the file before all ranks have met, and then the writes under way before are over. A writer does not wait for the change.
#pragma once

#include <atomic>

#include "base/types.h"

namespace mercutio {

class WritesUnderWay {
 public:
  // A write, from before it asks how the file is set until it is over.
  class Entry {
   public:
    // Null: the program calls from one thread at a time, and nothing is counted.
    explicit Entry(WritesUnderWay* writes) : writes_(writes) {
      if (!writes_) return;
      writes_->under_way_.fetch_add(1, std::memory_order_seq_cst);
      if (writes_->changes_.load(std::memory_order_seq_cst) == 0) return;
      leave();
      cautious_ = true;
    }
    ~Entry() { leave(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    bool cautious() const { return cautious_; }

   private:
    void leave() {
      if (writes_) writes_->under_way_.fetch_sub(1, std::memory_order_release);
      writes_ = nullptr;
    }
    WritesUnderWay* writes_;
    bool cautious_ = false;
  };

  // The file is being set, as long as it lives.
  class Change {
   public:
    explicit Change(WritesUnderWay& writes) : writes_(writes) { writes_.changes_.fetch_add(1, std::memory_order_seq_cst); }
    ~Change() { writes_.changes_.fetch_sub(1, std::memory_order_release); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    bool may_go_on() const { return writes_.under_way_.load(std::memory_order_seq_cst) == 0; }

   private:
    WritesUnderWay& writes_;
  };

 private:
  std::atomic<i64> under_way_{0}, changes_{0};
};

}  // namespace mercutio
