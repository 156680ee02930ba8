#include "base/program.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

using namespace std::string_literals;

TEST(Program, IsCalledAsTheKernelSays) {
  EXPECT_EQ(program_name_in("./app\0in.nml\0"s, "app\n"), "app");
  EXPECT_EQ(program_name_in("", "my app\n"), "my_app");
  EXPECT_EQ(program_name_in("", ""), "program");
  EXPECT_EQ(program_name_in("/opt/simulation_of_waves\0in.nml\0"s, "simulation_of_w\n"), "simulation_of_waves") << "the kernel cuts it";
  EXPECT_EQ(program_name_in("/opt/launcher\0"s, "simulation_of_w\n"), "simulation_of_w");
  EXPECT_FALSE(program_name().empty());
}

TEST(Program, AScriptGoesByItsOwnName) {
  EXPECT_EQ(program_name_in("/usr/bin/python3\0-u\0runs/step.py\0a.nc\0"s, "python3\n"), "step.py");
  EXPECT_EQ(program_name_in("python3\0-c\0import a.b\0"s, "python3\n"), "python3");
  EXPECT_EQ(program_name_in("python3\0"s, "python3.11\n"), "python3.11");
}

TEST(Program, ValuesOfPythonsOptionsAreNoScripts) {
  EXPECT_EQ(program_name_in("python3\0-W\0ignore\0x.py\0"s, "python3\n"), "x.py");
  EXPECT_EQ(program_name_in("python3\0-W\0ignore::a.B\0x.py\0"s, "python3\n"), "x.py");
  EXPECT_EQ(program_name_in("python3\0-X\0dev\0-u\0runs/x.py\0"s, "python3\n"), "x.py");
  EXPECT_EQ(program_name_in("python3\0-Wignore\0-Xdev\0x.py\0m.py\0"s, "python3\n"), "x.py");
  EXPECT_EQ(program_name_in("python3\0-uW\0ignore\0x.py\0"s, "python3\n"), "x.py");
  EXPECT_EQ(program_name_in("python3\0--check-hash-based-pycs\0always\0x.py\0"s, "python3\n"), "x.py");
  EXPECT_EQ(program_name_in("python3\0-m\0waves\0in.nml\0"s, "python3\n"), "waves");
  EXPECT_EQ(program_name_in("python3\0-W\0ignore\0-um\0waves.run\0"s, "python3\n"), "waves.run");
  EXPECT_EQ(program_name_in("python3\0-mwaves\0"s, "python3\n"), "waves");
  EXPECT_EQ(program_name_in("python3\0-m\0mpi4py\0x.py\0"s, "python3\n"), "x.py");
  EXPECT_EQ(program_name_in("python3\0-mmpi4py\0-m\0waves\0"s, "python3\n"), "waves");
  EXPECT_EQ(program_name_in("python3\0-\0in.nml\0"s, "python3\n"), "python3");
  EXPECT_EQ(program_name_in("python3\0-uc\0import a.b\0"s, "python3\n"), "python3");
  EXPECT_EQ(program_name_in("python3\0-m\0"s, "python3\n"), "python3");
  EXPECT_EQ(program_name_in("perl\0-W\0x.pl\0"s, "perl\n"), "x.pl") << "these are Python's";
}

}  // namespace
}  // namespace mercutio
