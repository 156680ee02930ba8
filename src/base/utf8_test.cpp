#include "base/utf8.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

TEST(Utf8, CharactersAreWhole) {
  EXPECT_EQ(utf8_character("a"), 1u);
  EXPECT_EQ(utf8_character("\u00fc"), 2u);
  EXPECT_EQ(utf8_character("\u5c71"), 3u);
  EXPECT_EQ(utf8_character("\U0001F600"), 4u);
  for (const char* none : {"\xFF", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) EXPECT_EQ(utf8_character(none), 0u) << none;
}

TEST(Utf8, CutTextHasWholeCharacters) {
  EXPECT_EQ(first_bytes("m\u00fcller", 2), "m");
  EXPECT_EQ(first_bytes("m\u00fcller", 3), "m\u00fc");
  EXPECT_EQ(first_bytes("anna", 4), "anna");
  EXPECT_EQ(first_bytes("\u5c71", 2), "");
  EXPECT_EQ(last_bytes("m\u00fc", 1), "");
}

TEST(Utf8, NothingPrintableMovesTheCursor) {
  EXPECT_EQ(printable("m\u00fcller \u5c71 \U0001F600"), "m\u00fcller \u5c71 \U0001F600");
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f" "d"), "a [2Jb c d");
  EXPECT_EQ(printable("a\u009b2J\u009d0;x\u0085" "b"), "a 2J 0;x b") << "as ESC and a character, in one";
  EXPECT_EQ(printable("a\u202e" "b\u2066" "c\u200f\u061c\u2028"), "a b c   ");
  EXPECT_EQ(printable("a\xFF\xC3"), "a\\xff\\xc3");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), " x");
}

// No two names look alike.
TEST(Utf8, BytesThatAreNoTextAreEscaped) {
  const std::pair<const char*, const char*> names[] = {{"bad\xFF\xFE.dat", R"(bad\xff\xfe.dat)"}, {R"(bad\xff\xfe.dat)", R"(bad\x5cxff\x5cxfe.dat)"},
                                                       {"bad\u00ff\u00fe.dat", "bad\u00ff\u00fe.dat"}, {R"(a\b\x1\\xg0)", R"(a\b\x1\\xg0)"},
                                                       {R"(\\x41\)", R"(\\x5cx41\)"}, {"\xed\xa0\x80", R"(\xed\xa0\x80)"}, {R"(\x+1)", R"(\x+1)"}};
  for (const auto& [name, shown] : names) {
    EXPECT_EQ(escaped_bytes(name), shown);
    EXPECT_EQ(printable(name), shown);
    EXPECT_EQ(unescaped_bytes(shown), name);
  }
}

TEST(Utf8, ColumnsAreThoseOfATerminal) {
  EXPECT_EQ(text_columns("anna"), 4);
  EXPECT_EQ(text_columns("m\u00fcller"), 6);
  EXPECT_EQ(text_columns("mu\u0308ller"), 6) << "an accent of its own";
  EXPECT_EQ(text_columns("\u5c71\u7530"), 4);
  EXPECT_EQ(text_columns("a\xFF" "b"), 3);
  EXPECT_EQ(padded("\u00fc", 3), "\u00fc  ");
  EXPECT_EQ(padded("\u5c71", 3), "\u5c71 ");
  EXPECT_EQ(padded("abcd", 3), "abcd");
}

TEST(Utf8, NothingIsCutInTheMiddleOfACharacter) {
  EXPECT_EQ(last_columns("m\u00fcller", 6), "m\u00fcller");
  EXPECT_EQ(last_columns("\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc", 5), "...\u00fc\u00fc");
  EXPECT_EQ(last_columns("\u5c71\u5c71\u5c71\u5c71", 6), "...\u5c71") << "two columns each";
  EXPECT_EQ(last_columns("abcdefgh", 6), "...fgh");
  EXPECT_EQ(last_columns(std::string(2'000'000, 'x') + "yz", 6), "...xyz") << "at once, and not in hours";
}

}  // namespace
}  // namespace mercutio
