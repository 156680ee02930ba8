#include "model/hints.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/hints_files.h"
#include "model/hints_measured.h"

namespace mercutio {
namespace {

HintSet applied(const InfoItems& items, HintTime time = HintTime::kOpen) {
  HintSet set;
  apply_hints(set, items, HintSource::kInfo, time);
  return set;
}

std::string value_of(const InfoItems& items, const std::string& key) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == key; });
  return found == items.end() ? "(none)" : found->second;
}

TEST(Hints, SizesTakeUnits) {
  EXPECT_EQ(applied({{"cb_buffer_size", "16MiB"}}).values.cb_buffer_size, 16 * MiB);
  EXPECT_EQ(applied({{"cb_buffer_size", " 4k "}}).values.cb_buffer_size, 4 * KiB);
  EXPECT_EQ(applied({{"stripe_size", "1 GB"}}).values.striping_unit, 1024 * MiB);
}

TEST(Hints, WhatCantBeUsedLeavesTheValueAndSaysWhy) {
  for (const char* bad : {"0", "-1", "5x", "", "99999999999999999999", "9223372036854775807k", "k"}) {
    const HintSet set = applied({{"cb_buffer_size", bad}});
    EXPECT_EQ(set.values, Hints{}) << bad;
    ASSERT_EQ(set.notes.size(), 1u);
    EXPECT_FALSE(set.notes[0].applied()) << bad;
    EXPECT_FALSE(set.notes[0].why_not.empty());
  }
}

TEST(Hints, TogglesAndBooleansInEverySpelling) {
  EXPECT_EQ(applied({{"romio_cb_read", "ENABLE"}}).values.romio_cb_read, Toggle::kEnable);
  EXPECT_EQ(applied({{"romio_ds_write", "automatic"}}).values.romio_ds_write, Toggle::kAutomatic);
  EXPECT_TRUE(applied({{"romio_no_indep_rw", "true"}}).values.romio_no_indep_rw);
  const Hints hints = applied({{"collective_buffering", "false"}}).values;
  EXPECT_EQ(hints.romio_cb_read, Toggle::kDisable);
  EXPECT_EQ(hints.romio_cb_write, Toggle::kDisable);
  EXPECT_FALSE(applied({{"romio_cb_read", "maybe"}}).notes[0].applied());
}

// MPI leaves the order of an Info's keys open.
TEST(Hints, AHintsOwnNameCounts) {
  EXPECT_EQ(applied({{"cb_nodes", "4"}, {"num_aggregators", "8"}}).values.cb_nodes, 4);
  EXPECT_EQ(applied({{"num_aggregators", "8"}, {"cb_nodes", "4"}}).values.cb_nodes, 4);
  const HintSet set = applied({{"romio_cb_write", "disable"}, {"collective_buffering", "true"}});
  EXPECT_EQ(set.values.romio_cb_write, Toggle::kDisable);
  EXPECT_EQ(set.values.romio_cb_read, Toggle::kEnable);
  EXPECT_EQ(conflicts_of(own_names_last({{"cb_nodes", "4"}, {"unknown", "1"}, {"num_aggregators", "8"}}), "MPI_Info"),
            std::vector<std::string>{"MPI_Info: cb_nodes = 4: num_aggregators = 8 sets cb_nodes, too; cb_nodes counts"});
  EXPECT_TRUE(conflicts_of({{"cb_nodes", "8"}, {"num_aggregators", "8"}}, "MPI_Info").empty());
}

TEST(Hints, OpenOnlyHintsAreRefusedLaterUnlessUnchanged) {
  EXPECT_FALSE(applied({{"striping_factor", "4"}}, HintTime::kAnyTime).notes[0].applied());
  EXPECT_TRUE(applied({{"cb_config_list", "*:1"}}, HintTime::kAnyTime).notes[0].applied());
  EXPECT_FALSE(applied({{"romio_visibility_immediate", "false"}}).notes[0].applied());
}

TEST(Hints, ConfigList) {
  EXPECT_TRUE(applied({{"cb_config_list", "node1:2,*:*"}}).notes[0].applied());
  EXPECT_FALSE(applied({{"cb_config_list", "node1:x"}}).notes[0].applied());
  EXPECT_FALSE(applied({{"cb_config_list", ":3"}}).notes[0].applied());
}

TEST(Hints, NotesDontGrowWithRepetition) {
  HintSet set;
  for (int i = 0; i < 10; ++i) apply_hints(set, {{"nonsense", "1"}}, HintSource::kInfo, HintTime::kAnyTime);
  EXPECT_EQ(set.notes.size(), 1u);
}

TEST(Hints, EffectiveValuesNameWhatHdf5AsksForAndNothingUnknown) {
  const InfoItems items = effective_hints(applied({{"cb_nodes", "3"}, {"nonsense", "1"}}).values);
  EXPECT_EQ(value_of(items, "romio_visibility_immediate"), "true");
  EXPECT_EQ(value_of(items, "cb_nodes"), "3");
  EXPECT_EQ(value_of(items, "nonsense"), "(none)");
  EXPECT_EQ(value_of(items, "romio_cb_write"), "automatic");
  EXPECT_EQ(value_of(items, "collective_buffering"), "true");
  EXPECT_EQ(value_of(items, "striping_unit"), "(none)");
}

TEST(Hints, WhatIsInEffectCanBeHandedBack) {
  const Hints hints = applied({{"romio_cb_read", "disable"}, {"striping_unit", "4k"}, {"cb_nodes", "3"}}).values;
  EXPECT_EQ(applied(effective_hints(hints)).values, hints);
  EXPECT_EQ(applied(effective_hints(Hints{})).values, Hints{}) << "automatic stays automatic";
}

TEST(Hints, WhatIsKeptWithoutEffectIsSaidSo) {
  HintSet set = applied({{"cb_nodes", "8"}, {"striping_factor", "4"}, {"file_perm", "640"}, {"cb_buffer_size", "1m"}});
  Hints now = set.values;
  now.cb_nodes = 2;
  now.striping_factor = 1;
  note_ineffective(set, effective_hints(now), false);
  for (const HintNote& note : set.notes) {
    EXPECT_EQ(note.status, note.key == "cb_buffer_size" ? HintStatus::kApplied : HintStatus::kIneffective) << note.key;
    EXPECT_EQ(note.why_not.empty(), note.applied()) << note.key;
  }
  HintSet fine = applied({{"cb_nodes", "2"}, {"file_perm", "640"}});
  note_ineffective(fine, effective_hints(fine.values), true);
  for (const HintNote& note : fine.notes) EXPECT_TRUE(note.applied()) << note.key;
}

TEST(Hints, NamesOfOthersAreExplained) {
  const HintSet set = applied({{"romio_pvfs2_debugmask", "1"}, {"OMPI_MCA_fcoll", "vulcan"}, {"cray_cb_nodes_multiplier", "2"}});
  EXPECT_EQ(set.notes[0].status, HintStatus::kForeign);
  EXPECT_EQ(set.notes[1].status, HintStatus::kForeign);
  EXPECT_NE(set.notes[1].why_not.find("mercutio_strategy"), std::string::npos);
  EXPECT_EQ(set.values.romio_lustre_co_ratio, 2);
}

TEST(Hints, Files) {
  const InfoItems lines = parse_romio_hints("# site\n cb_nodes   4\nromio_cb_write enable\nbroken\n");
  EXPECT_EQ(lines, (InfoItems{{"cb_nodes", "4"}, {"romio_cb_write", "enable"}}));
  const InfoItems first = parse_romio_hints("ind_rd_buffer_size 49\nind_rd_buffer_size 60\n");
  EXPECT_EQ(first, (InfoItems{{"ind_rd_buffer_size", "49"}})) << "a key's first line counts, as in ROMIO";
  const InfoItems pairs = parse_hint_string("cb_nodes=2; cb_config_list = *:1 ;;x");
  EXPECT_EQ(pairs, (InfoItems{{"cb_nodes", "2"}, {"cb_config_list", "*:1"}}));
}

TEST(Hints, MeasuredSectionsReplaceTheirOwn) {
  const std::string first = with_section("", "/a", {{"mercutio_saturation_bytes", "1"}});
  const std::string both = with_section(first, "/b", {{"mercutio_saturation_bytes", "2"}});
  const std::string again = with_section(both, "/a", {{"mercutio_saturation_bytes", "3"}});
  EXPECT_NE(both.find("[/a]\nmercutio_saturation_bytes 1\n[/b]\nmercutio_saturation_bytes 2\n"), std::string::npos) << both;
  EXPECT_NE(again.find("[/b]\nmercutio_saturation_bytes 2\n[/a]\nmercutio_saturation_bytes 3\n"), std::string::npos) << again;
  EXPECT_EQ(again.find("bytes 1\n"), std::string::npos);
  EXPECT_EQ(with_section(again, "/a", {{"mercutio_saturation_bytes", "3"}}), again);
  const std::string root = with_section(again, "/", {{"mercutio_saturation_bytes", "4"}});   // the last one counts for its whole file system
  EXPECT_EQ(with_section(root, "/.", {{"mercutio_saturation_bytes", "5"}}), with_section(again, "/.", {{"mercutio_saturation_bytes", "5"}}));
}

}  // namespace
}  // namespace mercutio
