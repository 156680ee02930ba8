// Changes to an input, as libFuzzer makes them, without its feedback: bits, bytes, numbers that matter, parts moved, left out
// or repeated, words of a dictionary, two inputs spliced.
#pragma once

#include "fuzz.h"

namespace mercutio::fuzz {

// The words of a file in libFuzzer's dictionary format: "text" with \xNN, \\ and \", one a line, # for comments.
std::vector<Input> read_dictionary(const std::string& path);

// `others` may be empty, as may `words`.
void mutate(Input& input, Random& random, const std::vector<Input>& words, const std::vector<Input>& others);

}  // namespace mercutio::fuzz
