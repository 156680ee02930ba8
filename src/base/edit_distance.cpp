#include "base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace mercutio {

i64 edit_distance(std::string_view a, std::string_view b) {
  std::vector<i64> before_last, last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), i64{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<i64>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = now;
  }
  return last[b.size()];
}

}  // namespace mercutio
