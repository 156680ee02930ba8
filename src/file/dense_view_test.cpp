#include "file/dense_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "model/single_run.h"

namespace mercutio {
namespace {

FileView view_of(i64 displacement, const TypeSpecRef& etype, const TypeSpecRef& filetype) {
  auto view = std::make_shared<View>();
  view->displacement = displacement;
  view->etype = *FlatType::of(*etype);
  view->filetype = *FlatType::of(*filetype);
  FileView made;
  made.view = view;
  return made;
}

FileView of_words(i64 displacement, i64 bytes) {
  const TypeSpecRef word = make_contiguous(bytes, byte_type());
  return view_of(displacement, word, word);
}

TEST(DenseView, FindsWholeEtypesWhereTheyLie) {
  DenseView dense;
  EXPECT_EQ(dense.run_of(0, 1).offset, -1);   // not set
  dense.set(of_words(100, 8));
  EXPECT_EQ(dense.run_of(0, 8).offset, 100);
  EXPECT_EQ(dense.run_of(3, 24).offset, 124);
  EXPECT_EQ(dense.run_of(3, 24).etypes, 3);
  EXPECT_EQ(dense.run_of(3, 24).etype_bytes, 8);
  EXPECT_EQ(dense.run_of(3, 12).offset, -1);
  EXPECT_EQ(dense.run_of(3, 4).offset, -1);
  EXPECT_EQ(dense.run_of(-1, 8).offset, -1);
}

TEST(DenseView, EndsWhereTheViewEnds) {
  for (const i64 displacement : {i64{0}, i64{100}, kMostFileBytes - 20}) {
    const FileView view = of_words(displacement, 1);
    const i64 end = std::min(view.view->filetype->stream_bytes(), kMostFileBytes - displacement);
    DenseView dense;
    dense.set(view);
    for (const i64 etype : {i64{0}, end - 2, end - 1, end, end + 1, INT64_MAX})
      for (const i64 bytes : {i64{1}, i64{2}, INT64_MAX}) EXPECT_EQ(dense.run_of(etype, bytes).offset, offset_of_run(*view.view, etype, bytes)) << etype << " " << bytes;
    EXPECT_EQ(dense.run_of(end - 1, 1).offset, displacement + end - 1);
  }
  DenseView words;
  words.set(of_words(0, 8));
  EXPECT_EQ(words.run_of(INT64_MAX / 4, 8).offset, -1);
}

TEST(DenseView, LeavesHolesAndConversionsToTheView) {
  DenseView dense;
  const FileView holes = view_of(0, byte_type(), make_resized(0, 2, byte_type()));
  FileView others_have_holes = of_words(0, 1), converts = of_words(0, 1);
  others_have_holes.scattered = true;
  converts.external32 = true;
  for (const FileView& view : {holes, others_have_holes, converts}) {
    dense.set(of_words(0, 1));
    ASSERT_EQ(dense.run_of(5, 1).offset, 5);
    dense.set(view);
    EXPECT_EQ(dense.run_of(5, 1).offset, -1);
  }
}

TEST(DenseView, IsNeverPartOfOneViewAndPartOfAnother) {
  constexpr i64 kViews = 40'000;
  DenseView dense;
  const FileView bytes = of_words(1000, 1), words = of_words(0, 8);
  dense.set(bytes);
  std::atomic<bool> over{false};
  std::set<i64> seen;   // of etype 7: byte 1007 or 56
  std::thread reader([&] {
    while (!over.load()) seen.insert(dense.run_of(7, 8).offset);
  });
  for (i64 i = 0; i < kViews; ++i) dense.set(i % 2 == 0 ? words : bytes);
  over.store(true);
  reader.join();
  EXPECT_EQ(dense.run_of(7, 8).offset, 1007);
  seen.erase(-1);   // while it was set
  for (const i64 offset : seen) EXPECT_TRUE(offset == 1007 || offset == 56) << offset;
}

}  // namespace
}  // namespace mercutio
