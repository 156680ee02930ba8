// Where hints come from besides the program. Weakest first: what `mercutio probe` measured (model/hints_measured.h, added by
// the caller); /etc/romio-hints and the site's file; the tuner's profiles (docs/users/tuning.md); the user's file; the job's file; the environment
// (MPICH_MPIIO_HINTS, OMPIO's parameters, the file named by ROMIO_HINTS, MERCUTIO_HINTS). The program's MPI_Info wins over
// all of them, as the standard makes its user expect, except over what the site forces: that is applied first and stays.
// Read on rank 0 at open, then broadcast. Cost: a stat for each of six files and a folder that is listed; files are read again only
// after a change. One that keeps what it saw pays this once in that time: where many files are opened, home directories are far away.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "model/hints.h"
#include "model/hints_files.h"

namespace mercutio {

struct AskedHints {
  std::vector<AskedHint> hints;        // forced ones first, then weakest source first
  std::vector<AskedHint> measured;     // weaker than all of them, for a file that the system's own calls reach
  std::vector<std::string> problems;   // "FILE:3: why", for messages
};

// A hint file that is read if it exists. Also for `mercutio hints`.
struct HintFilePlace {
  HintSource source;
  std::string path;    // "" if there can't be one
  bool named = false;  // named by the user: a missing file is a problem
  bool romio = false;  // has lines of "key value"
  bool keyed = false;  // a profile that applies only to the runs it describes
};
// The pattern of names for the records of all jobs (insight/site_file.h): from MERCUTIO_SITE or the site's file; empty: none.
std::string job_records_of_site();
// Weakest source first. Of profiles, those for programs of this name, newest last. "": this program; nothing: all programs.
std::vector<HintFilePlace> hint_file_places(const std::optional<std::string>& program);

// All profiles of the tuner for such files: the programs they are for, and their paths.
struct KnownProfile {
  HintProfile profile;
  std::string path;
};
std::vector<KnownProfile> profiles_of_file(const std::string& path);

// The type of the file system of a path that may not exist yet: "0xef53"; "": unknown.
std::string file_system_key(const std::string& path);

// One per process. Any thread may call it.
class HintSources {
 public:
  explicit HintSources(i64 keep_ns = 0) : keep_ns_(keep_ns) {}   // how long it takes files as it saw them
  // `path`: without a driver's prefix. `ranks`: number of ranks that open it; 0: unknown.
  // `program`: the program whose profiles apply; "": this one.
  AskedHints asked_for(const std::string& path, i64 ranks = 0, const std::string& program = "");
  void forget();   // files are looked at again
 private:
  struct Kept;
  struct Place;
  struct Seen;
  struct Opener {
    std::string path, program;   // "": this one, whose name is looked up where a profile is found
    i64 ranks = 0;
  };
  std::shared_ptr<const Seen> seen(const std::string& program);
  Place look_at(HintFilePlace place) MERCUTIO_REQUIRES(mutex_);
  static void add_file(AskedHints& asked, const Place& place, const Opener& opener);
  const i64 keep_ns_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Kept>> files_ MERCUTIO_GUARDED_BY(mutex_);
  std::shared_ptr<const Seen> seen_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
