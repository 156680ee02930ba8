// Lustre's layouts (src/storage/posix/lustre.cpp, src/model/layout.cpp): of any bytes, what is understood tiles the file with stripes that
// exist, and a part of the file has the stripes that the whole has there.
#include "fuzz.h"
#include "plan/layout_known.h"
#include "storage/posix/lustre.h"

namespace mercutio::fuzz {

Input example(Random& random) {
  static const std::uint32_t kWords[] = {0x0BD10BD0, 0x0BD30BD0, 0x0BD60BD0, 1, 0x101, 0x10, 0x40, 2, 32, 80, 128, 176, 0xffffffff, 0, 1 << 20, 4 << 20};
  Input out;
  for (i64 i = pick(random, 0, 80); i > 0; --i) {
    const std::uint32_t word = kWords[pick(random, 0, 15)];
    for (int byte = 0; byte < 4; ++byte) out.push_back(static_cast<std::byte>(word >> 8 * byte & 0xff));
  }
  return out;
}

namespace {

void check_ranges(const Layout& layout, i64 begin, i64 end) {
  i64 at = begin;
  for (const StripeRange& range : stripes_of(layout, begin, end)) {
    FUZZ_CHECK(range.begin == at && range.end > at, "ranges don't tile the file");
    FUZZ_CHECK(range.stripe_bytes > 0 && range.stripe_count > 0, "no stripes");
    at = range.end;
  }
  FUZZ_CHECK(at == begin || at == end, "ranges end early");
}

}  // namespace
}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  const auto layout = posix::parse_lov(std::as_bytes(std::span(data, size)));
  if (!layout) return 0;
  check_ranges(*layout, 0, kEndOfFile);
  check_ranges(*layout, 1000, 1 << 30);
  for (const LayoutComponent& component : layout->components) {
    FUZZ_CHECK(component.begin >= 0 && component.end >= component.begin, "a component of negative length");
    if (component.end == component.begin) continue;
    const Layout part = within(*layout, component.begin, component.begin + 1);
    FUZZ_CHECK(part.components.empty(), "a byte striped in two ways");
    (void)layout->server_at(component.begin);
  }
  LayoutKnown known;
  const LayoutByRange held = known.hold(*layout);
  const auto arrived = ranges_of_bytes(bytes_of_ranges(held.ranges));
  FUZZ_CHECK((held.key == 0) == !arrived && (!arrived || *arrived == *held.ranges), "the layout arrives changed");
  return 0;
}
