#include "place/scotch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "process.h"
#include "scratch.h"

namespace mercutio::place {
namespace {

constexpr double kLargestWeight = 1e6;

std::string command() {
  for (const char* name : {"scotch_gmap", "gmap"}) {
    if (std::string path = tool::find_on_path(name); !path.empty()) return path;
  }
  return "";
}

// Scotch's graph format: vertices numbered from 0, with weights of edges.
bool write_graph(const std::string& path, const Volume& volume) {
  float most = 0;
  i64 edges = 0;
  for (i64 a = 0; a < volume.ranks(); ++a) {
    for (i64 b = 0; b < volume.ranks(); ++b) {
      most = std::max(most, volume.at(a, b));
      edges += volume.at(a, b) > 0 ? 1 : 0;
    }
  }
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (!out) return false;
  std::fprintf(out, "0\n%lld %lld\n0 010\n", static_cast<long long>(volume.ranks()), static_cast<long long>(edges));
  for (i64 a = 0; a < volume.ranks(); ++a) {
    i64 degree = 0;
    for (i64 b = 0; b < volume.ranks(); ++b) degree += volume.at(a, b) > 0 ? 1 : 0;
    std::fprintf(out, "%lld", static_cast<long long>(degree));
    for (i64 b = 0; b < volume.ranks(); ++b) {
      if (volume.at(a, b) <= 0) continue;
      const double weight = std::max(1.0, std::round(static_cast<double>(volume.at(a, b)) / static_cast<double>(most) * kLargestWeight));
      std::fprintf(out, " %.0f %lld", weight, static_cast<long long>(b));
    }
    std::fputc('\n', out);
  }
  const bool written = std::ferror(out) == 0;
  return std::fclose(out) == 0 && written;
}

// Where it put more than there is room for, the last of them go where there is some.
void keep_to_rooms(const Problem& problem, Mapping& mapping) {
  std::vector<i64> left = problem.room;
  std::vector<std::size_t> homeless;
  for (std::size_t rank = 0; rank < mapping.size(); ++rank) {
    if (--left[static_cast<std::size_t>(mapping[rank])] < 0) homeless.push_back(rank), ++left[static_cast<std::size_t>(mapping[rank])];
  }
  for (const std::size_t rank : homeless) {
    const auto place = std::max_element(left.begin(), left.end());
    mapping[rank] = place - left.begin();
    --*place;
  }
}

Mapping read_mapping(const std::string& path, const Problem& problem) {
  std::ifstream in(path);
  i64 count = 0, rank = 0, place = 0;
  Mapping mapping(static_cast<std::size_t>(problem.ranks()), -1);
  if (!(in >> count) || count != problem.ranks()) return {};
  while (in >> rank >> place) {
    if (rank < 0 || rank >= problem.ranks() || place < 0 || place >= problem.places()) return {};
    mapping[static_cast<std::size_t>(rank)] = place;
  }
  return std::count(mapping.begin(), mapping.end(), -1) > 0 ? Mapping{} : mapping;
}

}  // namespace

bool have_scotch() {
  return !command().empty();
}

Mapping scotch(const Problem& problem) {
  const tool::SignalHold hold;
  const tool::Scratch folder(tool::temporary_directory(), "place");
  if (!have_scotch() || folder.path().empty()) return {};
  const std::string graph = folder.path() + "/ranks.grf", target = folder.path() + "/places.tgt", result = folder.path() + "/ranks.map";
  std::ofstream places(target);
  places << "cmpltw " << problem.places();
  for (const i64 room : problem.room) places << " " << room;
  places << "\n";
  places.close();
  Mapping mapping;
  if (places && write_graph(graph, *problem.volume) && tool::capture({command(), graph, target, result}, 600).exit_code == 0) {
    mapping = read_mapping(result, problem);
  }
  if (!mapping.empty()) keep_to_rooms(problem, mapping);
  return mapping;
}

}  // namespace mercutio::place
