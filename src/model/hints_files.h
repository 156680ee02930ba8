// The texts that hints come in, taken apart: Mercutio's TOML files, ROMIO's files of "key value" lines, and the variable of
// Cray's MPI-IO. All become sections of hints with a file name pattern each.
//
//   force = ["romio_ds_write"]      # a site's file only: nobody may change these
//   cb_buffer_size = "16MiB"        # every file
//   ["*.nc"]                        # files called like that, in any directory
//   cb_nodes = 8
//   ["/scratch/*"]                  # a pattern with / is for the whole path
//   romio_cb_write = true
//   [hints]                         # every file, for those who expect a section
#pragma once

#include <string>
#include <vector>

#include "model/hints.h"

namespace mercutio {

struct HintLine {
  std::string key, value;
  i64 line = 0;
  bool operator==(const HintLine&) const = default;
};

struct HintSection {
  std::string glob;
  std::vector<HintLine> hints;
  bool operator==(const HintSection&) const = default;
};

struct HintProblem {
  i64 line = 0;   // 0: the text as a whole
  std::string text;
  bool operator==(const HintProblem&) const = default;
};

// What a profile's [profile] says it was measured for.
struct HintProfile {
  std::string application, file_system;   // file_system: as file_system_key() says
  i64 ranks = 0;
  bool operator==(const HintProfile&) const = default;
};

struct HintFile {
  std::vector<HintSection> sections;   // later ones win
  std::vector<HintLine> force;         // keys
  std::vector<HintProblem> problems;   // what was left out, or is probably not meant so
  HintProfile profile;
  HintLine jobs;                       // the site's file: where a record of each job goes (MERCUTIO_SITE), in `value`
  bool operator==(const HintFile&) const = default;
};

HintFile parse_hint_toml(const std::string& text);        // all errors of meaning; the first one of syntax, and then no section
HintFile parse_romio_file(const std::string& text);       // one section; a key's first line counts, as in ROMIO
HintFile parse_cray_hints(const std::string& text);       // "*.nc:cb_nodes=8:romio_cb_write=enable,*.h5:..."
InfoItems parse_romio_hints(const std::string& text);     // parse_romio_file's hints alone

// Whether a file is one of a pattern's: * stands for any characters, ? for one, [abc] for one of these. A pattern without /
// is for the last part of the path, one with / for the path as the program gave it or from the root.
bool glob_matches(const std::string& glob, const std::string& path);

// Two keys for one hint, such as cb_nodes and num_aggregators, whose order decides what is in effect. A problem for each pair.
std::vector<HintProblem> conflicts_of(const std::vector<HintLine>& hints);
// The same as texts that begin with where the hints are from.
std::vector<std::string> conflicts_of(const InfoItems& items, const std::string& where);
// Why nothing can be forced with this key; "": a hint is called so.
std::string why_not_forced(const std::string& key);

// "hints.toml:3: key: what is wrong" for each mistake: syntax, unknown keys, values that can't be. What the command checks.
std::vector<HintProblem> check_hint_file(const HintFile& file);

}  // namespace mercutio
