#include "place/cluster.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <sstream>

namespace mercutio::place {
namespace {

constexpr i64 kMostOfNode = 1 << 20;

// "4" of slots=4 or name:4; 0 for what is no number of ranks.
i64 count_of(const std::string& text) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= kMostOfNode ? std::max<i64>(0, value) : 0;
}

Result<Node> parse_host(const std::string& line, std::size_t number) {
  std::istringstream words(line);
  Node node;
  words >> node.name;
  if (const std::size_t colon = node.name.rfind(':'); colon != std::string::npos) {
    node.ranks = count_of(node.name.substr(colon + 1));
    if (node.ranks == 0) return Error::in_line(number, "'" + node.name + "': after the colon stands how many ranks the host takes");
    node.name.resize(colon);
  }
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return Error::in_line(number, "'" + word + "' after a host's name; it takes slots=4 or a colon and a number");
    if (word.compare(0, equals, "slots") != 0) continue;   // max_slots, user: nothing to us
    node.ranks = count_of(word.substr(equals + 1));
    if (node.ranks == 0) return Error::in_line(number, "'" + word + "' must be a number from 1 on");
  }
  return node;
}

using CpuSet = std::vector<std::uint32_t>;   // the lowest 32 first

CpuSet parse_cpu_set(const std::string& text) {
  CpuSet set;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    set.push_back(word.empty() ? 0 : static_cast<std::uint32_t>(std::strtoul(word.c_str(), nullptr, 16)));
  }
  std::reverse(set.begin(), set.end());
  return set;
}

bool share(const CpuSet& a, const CpuSet& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}

// Of attribute="..." in a tag.
std::string attribute(const std::string& tag, const std::string& name) {
  const std::size_t at = tag.find(" " + name + "=\"");
  if (at == std::string::npos) return "";
  const std::size_t from = at + name.size() + 3;
  return tag.substr(from, tag.find('"', from) - from);
}

}  // namespace

Result<std::vector<Node>> parse_hosts(const std::string& text) {
  std::vector<Node> nodes;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    MERCUTIO_LET(const Node node, parse_host(line, number));
    const auto known = std::find_if(nodes.begin(), nodes.end(), [&](const Node& one) { return one.name == node.name; });
    if (known == nodes.end())
      nodes.push_back(node);
    else
      known->ranks += std::max<i64>(1, node.ranks) + (known->ranks == 0 ? 1 : 0);
  }
  if (nodes.empty()) return Error{ErrorClass::kArg, "it names no host"};
  return nodes;
}

Result<std::vector<std::vector<i64>>> parse_topology(const std::string& xml) {
  std::vector<CpuSet> domains, cores;
  for (std::size_t at = 0; (at = xml.find("<object ", at)) != std::string::npos;) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) break;
    const std::string tag = xml.substr(at, end - at), type = attribute(tag, "type");
    if (type == "NUMANode") domains.push_back(parse_cpu_set(attribute(tag, "cpuset")));
    if (type == "Core") cores.push_back(parse_cpu_set(attribute(tag, "cpuset")));
    at = end;
  }
  if (cores.empty()) return Error{ErrorClass::kArg, "it holds no cores; a topology is what `lstopo --of xml FILE` writes on a node"};
  std::vector<std::vector<i64>> out(std::max<std::size_t>(1, domains.size()));
  for (std::size_t core = 0; core < cores.size(); ++core) {
    const auto home = std::find_if(domains.begin(), domains.end(), [&](const CpuSet& domain) { return share(domain, cores[core]); });
    out[home == domains.end() ? 0 : static_cast<std::size_t>(home - domains.begin())].push_back(static_cast<i64>(core));
  }
  std::erase_if(out, [](const auto& domain) { return domain.empty(); });   // memory without cores
  return out;
}

std::string open_mpi_rankfile(const std::vector<Seat>& seats) {
  std::string out;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    out += "rank " + std::to_string(rank) + "=" + seats[rank].host + " slot=" + std::to_string(seats[rank].core) + "\n";
  }
  return out;
}

std::string machine_file(const std::vector<Seat>& seats) {
  std::string out;
  for (std::size_t rank = 0; rank < seats.size();) {
    std::size_t end = rank;
    while (end < seats.size() && seats[end].host == seats[rank].host) ++end;
    out += seats[rank].host + ":" + std::to_string(end - rank) + "\n";
    rank = end;
  }
  return out;
}

bool returns_to_a_host(const std::vector<Seat>& seats) {
  std::set<std::string> seen;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    if (rank > 0 && seats[rank].host == seats[rank - 1].host) continue;
    if (!seen.insert(seats[rank].host).second) return true;
  }
  return false;
}

std::string slurm_host_file(const std::vector<Seat>& seats) {
  std::string out;
  for (const Seat& seat : seats) out += seat.host + "\n";
  return out;
}

}  // namespace mercutio::place
