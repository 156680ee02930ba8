// UTF-8 for tables on a terminal: names are of users and may hold anything, also bytes that are no text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/types.h"

namespace mercutio {

// How many bytes at the front are one character; 0: they are none.
std::size_t utf8_character(std::string_view text);
// The first characters of a text that are whole, of at most `most` bytes, and the last ones.
std::string_view first_bytes(std::string_view text, std::size_t most);
std::string_view last_bytes(std::string_view text, std::size_t most);
// Each byte that is no text as \xHH. So that this stands for nothing else, a backslash before an x and two hexadecimal digits is \x5c. And back.
std::string escaped_bytes(std::string_view text);
std::string unescaped_bytes(std::string_view text);
// The same, on one line and as it looks: each control character, also those that change the direction of text, is a blank. For whatever prints names.
std::string printable(std::string_view text);
// Columns of a terminal: accents take none, and letters of East Asia two. A byte that is no text takes one.
i64 text_columns(std::string_view text);
// Filled with blanks to this number of columns.
std::string padded(std::string text, i64 columns);
// The end of it, behind "...", where it needs more columns.
std::string last_columns(const std::string& text, i64 columns);

}  // namespace mercutio
