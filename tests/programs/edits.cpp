#include "edits.h"

#include <algorithm>
#include <sstream>

namespace mercutio::programs {
namespace {

// The element type that a type is made of.
int element_of(const Program& program, int type) {
  while (program.types[static_cast<size_t>(type)].kind != Kind::kBasic) type = program.types[static_cast<size_t>(type)].inner[0];
  return type;
}

void make_plain(const Program& program, Step& step) {
  for (Part& part : step.parts) {
    const i64 bytes = program.map(part.memory).size * part.count;
    part.memory = element_of(program, part.memory);
    part.count = bytes / program.map(part.memory).size;
  }
}

void make_plain_view(Step& step) {
  for (Part& part : step.parts) {
    part.filetype = step.etype;
    part.displacement = 0;
  }
}

void edit_step(const Program& program, Step& step, const std::string& word, i64 rank) {
  if (word == "-r" && rank >= 0 && rank < static_cast<i64>(step.parts.size())) step.parts[static_cast<size_t>(rank)].in = false;
  if (word == "plain" && step.op == Op::kAccess) make_plain(program, step);
  if (word == "plainview" && step.op == Op::kSetView) make_plain_view(step);
  if (word == "blocking") step.synchronism = Synchronism::kBlocking;
  if (word == "-delay") {
    for (Part& part : step.parts) part.delay_us = 0;
  }
}

void remove_hint(Program& program, const std::string& name) {
  for (Info& info : program.infos) {
    std::erase_if(info, [&](const auto& hint) { return name.empty() || hint.first == name; });
  }
}

void keep_ranks(Program& program, int ranks) {
  program.ranks = std::min(program.ranks, ranks);
  for (Step& step : program.steps) step.parts.resize(static_cast<size_t>(program.ranks));
}

}  // namespace

Program edited(Program program, const std::string& edits) {
  std::istringstream words(edits);
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':');
    const std::string what = word.substr(0, colon), argument = colon == std::string::npos ? "" : word.substr(colon + 1);
    if (what == "-hints" || what == "-hint") {
      remove_hint(program, argument);
    } else if (what == "ranks") {
      keep_ranks(program, std::stoi(argument));
    } else if (what == "-delays") {
      for (Step& step : program.steps) edit_step(program, step, "-delay", -1);
    } else {
      const size_t dot = argument.find('.'), dash = argument.find('-');
      const int first = std::stoi(argument), last = dash == std::string::npos ? first : std::stoi(argument.substr(dash + 1));
      const i64 rank = dot == std::string::npos ? -1 : std::stoi(argument.substr(dot + 1));
      for (Step& step : program.steps) {
        if (step.id >= first && step.id <= last) edit_step(program, step, what, rank);
      }
      if (what == "-s") std::erase_if(program.steps, [&](const Step& step) { return step.id >= first && step.id <= last; });
    }
  }
  return program;
}

}  // namespace mercutio::programs
