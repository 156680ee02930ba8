#include "place/matrix.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace mercutio::place {
namespace {

constexpr i64 kMostRanks = 1 << 14;   // a square of them takes 1 GiB

Result<std::vector<double>> numbers_of(std::string line, std::size_t number) {
  for (char& c : line) {
    if (c == ',' || c == ';' || c == '\t' || c == '\r') c = ' ';
  }
  std::vector<double> row;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end != '\0' || !std::isfinite(value) || value < 0) return Error::in_line(number, "'" + word + "' is no number from 0 on");
    row.push_back(value);
  }
  return row;
}

}  // namespace

Volume Volume::among(const std::vector<i64>& ranks) const {
  Volume out(static_cast<i64>(ranks.size()));
  for (std::size_t a = 0; a < ranks.size(); ++a) {
    for (std::size_t b = a + 1; b < ranks.size(); ++b) out.add(static_cast<i64>(a), static_cast<i64>(b), at(ranks[a], ranks[b]));
  }
  return out;
}

bool Volume::empty() const {
  return std::all_of(values_.begin(), values_.end(), [](float value) { return value == 0; });
}

Costs::Costs(i64 places, double inside, double between) : places_(places), values_(static_cast<std::size_t>(places * places), between) {
  for (i64 place = 0; place < places; ++place) set(place, place, inside);
}

void add_neighbours(const std::vector<i64>& order, double weight, Volume& volume) {
  for (std::size_t i = 1; i < order.size(); ++i) volume.add(order[i - 1], order[i], weight);
}

Result<std::vector<std::vector<double>>> parse_square(const std::string& text) {
  std::vector<std::vector<double>> rows;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    MERCUTIO_LET(std::vector<double> row, numbers_of(line.substr(0, line.find('#')), number));
    if (row.empty()) continue;
    if (!rows.empty() && row.size() != rows.front().size())
      return Error::in_line(number, std::to_string(row.size()) + " numbers, but the first line has " + std::to_string(rows.front().size()));
    rows.push_back(std::move(row));
    if (static_cast<i64>(rows.size()) > kMostRanks) return Error::in_line(number, "more than " + std::to_string(kMostRanks) + " lines");
  }
  if (rows.empty()) return Error{ErrorClass::kArg, "it holds no numbers"};
  if (rows.size() != rows.front().size())
    return Error{ErrorClass::kArg, std::to_string(rows.size()) + " lines of " + std::to_string(rows.front().size()) + " numbers: a square is needed"};
  return rows;
}

Result<Volume> parse_volume(const std::string& text) {
  MERCUTIO_LET(const auto rows, parse_square(text));
  Volume volume(static_cast<i64>(rows.size()));
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      const double there = rows[a][b], back = rows[b][a];
      volume.add(static_cast<i64>(a), static_cast<i64>(b), there == back ? there : there + back);
    }
  }
  return volume;
}

Result<Costs> parse_costs(const std::string& text) {
  MERCUTIO_LET(const auto rows, parse_square(text));
  Costs costs(static_cast<i64>(rows.size()), 0, 0);
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = 0; b < rows.size(); ++b) costs.set(static_cast<i64>(a), static_cast<i64>(b), std::max(rows[a][b], rows[b][a]));
  }
  return costs;
}

std::string volume_text(const Volume& volume) {
  std::string out;
  char number[32];
  for (i64 a = 0; a < volume.ranks(); ++a) {
    for (i64 b = 0; b < volume.ranks(); ++b) {
      snprintf(number, sizeof number, "%s%.9g", b > 0 ? "," : "", static_cast<double>(volume.at(a, b)));
      out += number;
    }
    out += "\n";
  }
  return out;
}

}  // namespace mercutio::place
