// How each launcher hands a variable to the ranks, and, where it can, to them only: mpirun itself and its daemons stay without
// it. Functions on command lines; what they cost is the length of the line.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mercutio::tool {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

enum class LauncherKind {
  kNone,     // no launcher we know: the program gets the variables in its environment
  kOpenMpi,  // -x NAME=value, once per application context
  kHydra,    // MPICH, Intel MPI, MVAPICH: -genv NAME value
  kSrun,     // env NAME=value srun, and --export where it limits what srun hands on
  kFlux,     // flux run --env=NAME=value
  kJsrun,    // -E NAME=value (IBM's Job Step Manager)
  kAprun,    // -e NAME=value (Cray ALPS)
  kRsh,      // mpirun_rsh ... NAME=value ./app (MVAPICH)
};

const char* launcher_name(LauncherKind kind);

// The index of the launcher in `command`: 0, or further on behind env, time, timeout and the like; -1 when there is
// none.
int find_launcher(const Words& command);

LauncherKind known_by_name(const std::string& program);
// What `launcher --version` printed decides; some are known by their names.
LauncherKind classify_launcher(const std::string& program, const std::string& version_text);

// `command` with `variables` handed to the ranks. `at` is the launcher's index. A LD_PRELOAD that the line sets already
// is kept, ahead of ours.
Words add_variables(LauncherKind kind, const Words& command, int at, const Variables& variables);

bool is_mercutio(const std::string& library);   // by the name of its file

// `mine` behind what is in `existing`, once: tools that wrap MPI_File_* forward to the next library. Another Mercutio gives way.
std::string append_preload(const std::string& mine, const std::string& existing);

// What is in a value of LD_PRELOAD beside Mercutio.
std::string without_mercutio(const std::string& preload);

// Where ranks start in containers (apptainer or singularity exec or run): the folder of `library` is bound there, and what ranks are to
// have in their environment becomes what containers get. Others are left as they are.
void reach_into_containers(Words& command, Variables& variables, const std::string& library);

// Why nothing that is handed on would come to ranks: it is a batch script's command, or programs are in a file. Empty: it would.
std::string why_none_is_reached(LauncherKind kind, const Words& command, int at);

// The index of the program of the first application context; size() if there is none. What follows is the program's own.
int find_program(LauncherKind kind, const Words& command, int launcher_at);

}  // namespace mercutio::tool
