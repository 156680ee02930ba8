// The layout by range that this rank knows of a file. Plans depend on it, so all ranks must take the same one: rank 0's, which alone
// asks the storage. Each gathers the key of what it holds with every collective access; where some rank holds another one, rank 0
// sends its own in this access. That is once, and again when the storage has given the file more servers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread_annotations.h"
#include "model/layout.h"

namespace mercutio {

struct LayoutByRange {
  std::uint64_t key = 0;   // 0: the file has the same stripes everywhere, or they aren't known
  std::shared_ptr<const std::vector<StripeRange>> ranges;

  std::vector<LayoutComponent> components() const;
};

// What travels. Bytes that are no such ranges give none.
std::vector<std::byte> bytes_of_ranges(const std::shared_ptr<const std::vector<StripeRange>>& ranges);
std::shared_ptr<const std::vector<StripeRange>> ranges_of_bytes(ConstBytes bytes);

// Any thread may call the members.
class LayoutKnown {
 public:
  LayoutByRange held();
  void hold(LayoutByRange layout);
  LayoutByRange hold(const Layout& layout);   // on rank 0, what the storage says now

 private:
  std::mutex mutex_;
  LayoutByRange held_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
