// The rules of MPI 14.3 for a view, their error classes, and what the error tells.
#include "model/view.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mercutio {
namespace {

TypeSpecRef int32() {
  return make_named({Basic::kSigned, 4, 4});
}

View view_of(const TypeSpecRef& etype, const TypeSpecRef& filetype, i64 displacement = 0) {
  View view;
  view.displacement = displacement;
  view.etype_spec = etype;
  view.filetype_spec = filetype;
  view.etype = FlatType::lower(*etype).value();
  view.filetype = FlatType::lower(*filetype).value();
  return view;
}

void expect_refused(const View& view, bool writable, ErrorClass cls, const std::string& says) {
  const Status status = check_view(view, writable);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().cls, cls) << status.error().what;
  EXPECT_NE(status.error().what.find(says), std::string::npos) << status.error().what;
}

TEST(View, TheDefaultViewIsBytes) {
  const ViewRef view = default_view();
  EXPECT_TRUE(view->contiguous());
  EXPECT_EQ(view->file_offset(12345678901), 12345678901);
  EXPECT_EQ(view->stream_position(12345678901), 12345678901);
  EXPECT_TRUE(check_view(*view, true).ok());
}

TEST(View, PositionsIncludeTheDisplacement) {
  const View view = view_of(int32(), make_resized(0, 16, make_vector(2, 1, 2, int32())), 100);
  ASSERT_TRUE(check_view(view, true).ok());
  EXPECT_EQ(view.file_offset(0), 100);
  EXPECT_EQ(view.file_offset(4), 108);
  EXPECT_EQ(view.file_offset(8), 116);
  EXPECT_EQ(view.stream_position(100), 0);
  EXPECT_EQ(view.stream_position(110), 6);
  EXPECT_EQ(view.range_of(0, 8), (FileRange{100, 112}));
}

// Of the view's runs, one after the other.
FileRange range_by_runs(const View& view, i64 begin, i64 end) {
  FileRange range{INT64_MAX, INT64_MIN};
  for (Cursor cursor = view.cursor(begin, end); !cursor.done();) {
    const StridedRun run = cursor.next(INT64_MAX, 1);
    range = {std::min(range.begin, run.offset), std::max(range.end, run.offset + run.bytes)};
  }
  return range;
}

// Copies that interleave: a column of a matrix, whose extent is one element; copies of no extent; pieces of which the first ends last.
TEST(View, RangesHoldCopiesThatInterleave) {
  const TypeSpecRef types[] = {make_resized(0, 4, make_vector(4, 1, 4, int32())), make_resized(0, 8, make_vector(2, 1, 3, int32())),
                               make_resized(0, 0, make_vector(3, 2, 5, int32())), make_resized(0, 12, make_indexed({9, 2}, {1, 3}, int32())),
                               make_resized(0, 16, make_vector(3, 1, 2, int32())), make_contiguous(5, int32())};
  for (const TypeSpecRef& type : types) {
    const View view = view_of(int32(), type, 100);
    ASSERT_TRUE(check_view(view, false).ok());
    const bool overlaps = view.filetype->overlapping_once();
    for (i64 begin = 0; begin < 100; ++begin) {
      for (i64 end = begin + 1; end <= 100; ++end) {
        const FileRange range = view.range_of(begin, end), exact = range_by_runs(view, begin, end);
        ASSERT_TRUE(range == exact || (overlaps && range.begin <= exact.begin && range.end >= exact.end)) 
            << begin << ' ' << end << ": " << range.begin << ' ' << range.end << ", by runs " << exact.begin << ' ' << exact.end;
      }
    }
  }
}

TEST(View, LegalFiletypesPass) {
  EXPECT_TRUE(check_view(view_of(int32(), make_subarray({10, 10}, {3, 4}, {2, 5}, true, int32())), true).ok());
  EXPECT_TRUE(check_view(view_of(int32(), make_indexed({1, 2}, {3, 7}, int32())), true).ok());
  EXPECT_TRUE(check_view(view_of(int32(), make_contiguous(0, int32())), true).ok());
  const auto both = Distribution::kCyclic;
  const auto darray =
      make_darray(4, 3, {8, 9}, {both, Distribution::kBlock}, {2, kDefaultDistributionArg}, {2, 2}, false, int32());
  EXPECT_TRUE(check_view(view_of(int32(), darray), true).ok());
  // An extent smaller than the span: only tiled copies interleave, which the standard does not forbid.
  EXPECT_TRUE(check_view(view_of(int32(), make_resized(0, 4, make_vector(2, 1, 8, int32()))), true).ok());
}

TEST(View, WhatIsIllegalIsNamed) {
  expect_refused(view_of(int32(), int32(), -1), false, ErrorClass::kArg, "displacement");
  expect_refused(view_of(int32(), int32(), i64{1} << 62), false, ErrorClass::kArg, "beyond what a file can have");
  expect_refused(view_of(int32(), make_indexed({1, 1}, {5, 2}, int32())), false, ErrorClass::kIo,
                 "must not decrease (data byte 4 lies at offset 8, after 20)");
  expect_refused(view_of(int32(), make_hindexed({1, 1}, {-4, 8}, int32())), false, ErrorClass::kIo, "offset -4");
  expect_refused(view_of(int32(), make_contiguous(6, byte_type())), false, ErrorClass::kArg, "whole etypes");
}

TEST(View, OverlapIsForWritersOnly) {
  const View view = view_of(byte_type(), make_hindexed({2, 1}, {0, 4}, int32()));
  EXPECT_TRUE(check_view(view, false).ok());
  expect_refused(view, true, ErrorClass::kIo, "overlap");
}

}  // namespace
}  // namespace mercutio
