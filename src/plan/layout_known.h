// LayoutKnown: the striping of a file by range, as far as this rank knows it. Plans depend on it, so all ranks must use the same
// one: that of rank 0, which alone asks the storage. With every collective access each rank gathers the key of its copy. If a copy
// differs, rank 0 broadcasts its own in that access. This happens once, and again whenever the striping has changed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread_annotations.h"
#include "model/layout.h"

namespace mercutio {

struct LayoutByRange {
  std::uint64_t key = 0;   // 0: the file has one striping throughout, or its striping is unknown
  std::shared_ptr<const std::vector<StripeRange>> ranges;

  std::vector<LayoutComponent> components() const;
};

// The message format. Bytes that are not valid ranges decode to null.
std::vector<std::byte> bytes_of_ranges(const std::shared_ptr<const std::vector<StripeRange>>& ranges);
std::shared_ptr<const std::vector<StripeRange>> ranges_of_bytes(ConstBytes bytes);

// Thread-safe.
class LayoutKnown {
 public:
  LayoutByRange held();
  void hold(LayoutByRange layout);
  LayoutByRange hold(const Layout& layout);   // on rank 0: stores the layout that the storage reports now

 private:
  std::mutex mutex_;
  LayoutByRange held_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
