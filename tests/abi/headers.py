#!/usr/bin/env python3
"""Whether src/mpi/abi is what the headers of installed MPIs say.

    headers.py --compiler c++ --source DIR --abi mpich|openmpi|standard HEADER...

A program that prints every name of our header (values of constants, sizes of types, offsets in MPI_Status, prototypes) is built with ours and
with each header that is there, and prints the same. A name that none of the headers has is a failure. The functions of src/api/symbols.txt
have as many parameters as that says. Then the sources that define functions of MPI are compiled with each header in place of ours, so that what
is exported has the MPI's own prototypes.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# The numbers of a draft of MPI 5, which Intel MPI 2021 has; src/mpi/abi_numbers.cpp knows them. The last one is asked of Open MPI only.
DRAFT = {"MPI_SEEK_SET": "401", "MPI_SEEK_CUR": "402", "MPI_SEEK_END": "403", "MPI_ERRORS_RETURN": "0x142", "MPI_ERRORS_ABORT": "0x143",
         "MPI_LASTUSEDCODE": "507"}
# Types that are MPI_DATATYPE_NULL in the header of an MPI without them.
OF_SOME = {"MPI_COMPLEX4", "MPI_INTEGER16", "MPI_LOGICAL16", "MPI_REAL2"}

PRELUDE = r"""
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

extern "C" const char* symbol_at(const void*);

// int and handles that are int; addresses by the name of what is there.
template <class T>
void constant(const char* name, T value) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
    const char* symbol = symbol_at((const void*)value);
    if (symbol) std::printf("%s %s\n", name, symbol);
    else std::printf("%s 0x%llx\n", name, (unsigned long long)(std::uintptr_t)value);
  } else if constexpr (std::is_pointer_v<T> || std::is_function_v<T>) {
    const char* symbol = symbol_at((const void*)(std::uintptr_t)value);
    std::printf("%s %s\n", name, symbol ? symbol : value ? "?" : "null");
  } else {
    std::printf("%s %lld\n", name, (long long)value);
  }
}

template <class T>
void type(const char* name, const char*) {
  if constexpr (std::is_function_v<T>) return;
  else std::printf("%s %zu bytes, aligned to %zu, %s\n", name, sizeof(T), alignof(T), std::is_pointer_v<T> ? "pointer" : std::is_signed_v<T> ? "signed" : "other");
}

template <class T>
void function(const char* name) {
  std::string text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  for (std::size_t at; (at = text.find("long long")) != std::string::npos;) text.erase(at, 5);
  for (std::size_t at; (at = text.find("struct ")) != std::string::npos;) text.erase(at, 7);
  std::printf("%s %s\n", name, text.c_str());
}

#define OFFSET(field) std::printf("MPI_Status." #field " at %zu\n", offsetof(MPI_Status, field))
"""


def names_of(header):
    """Constants, types and functions that src/mpi/abi declares, and the symbols of the MPI that it refers to."""
    text = header.read_text() + (header.parent / "functions.h").read_text()
    text = re.sub(r"//[^\n]*", "", text)
    symbols = re.findall(r"MERCUTIO_OBJECT\(\w+, MPI_\w+, (\w+)\)", text) + re.findall(r"\bOMPI_C_\w+", text)
    constants = re.findall(r"\b(MPIX?_[A-Z0-9_]+)\b(?= = )|#define (MPI_\w+)|MERCUTIO_OBJECT\(\w+, (MPI_\w+),", text)
    types = re.findall(r"using (MPI_\w+) =|struct (MPI_\w+) \{", text)
    functions = re.findall(r"^int (PMPI_\w+)\([^;{]*\);", text, re.MULTILINE)
    def join(groups):
        return sorted({"".join(g) for g in groups})
    return join(constants), join(types), sorted(set(functions)), sorted(set(symbols))


class Checker:
    def __init__(self, compiler, source, abi, folder):
        self.compiler, self.source, self.abi, self.folder = compiler, source, abi, folder
        self.header = source / "src/mpi/abi" / (abi + ".h")
        self.constants, self.types, self.functions, self.symbols = names_of(self.header)
        self.bad = 0
        self.missing = set(self.constants + self.types + self.functions)   # in all headers so far

    def fail(self, text):
        print(text)
        self.bad += 1

    def run(self, *command, **more):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)

    def defines(self, header):
        flags = ["-std=c++20", "-DMERCUTIO_ABI_" + self.abi.upper(), "-I", self.source / "src", "-I", self.source / "include"]
        if header:
            flags += ['-DMERCUTIO_MPI_HEADER="%s"' % (self.source / "tests/abi/installed_mpi.h"), '-DMERCUTIO_INSTALLED_HEADER="%s"' % header,
                      "-isystem", Path(header).parent, "-w"]
        return flags

    def present(self, header):
        """The names that a header has, as macros or otherwise."""
        out = self.run(self.compiler, "-E", "-dD", "-x", "c++", *self.defines(header), "-", input='#include "mpi/mpi_header.h"\n')
        if out.returncode:
            self.fail("%s can't be read: %s" % (header, out.stderr.strip()[:500]))
            return set()
        text = re.sub(r'(?m)^#define (MPI_LB|MPI_UB) .*static_assert.*$', "", out.stdout)
        return set(re.findall(r"\bP?MPIX?_\w+", text))

    def facts(self, header, names):
        lines = ["OFFSET(MPI_SOURCE);", "OFFSET(MPI_TAG);", "OFFSET(MPI_ERROR);"]
        lines += ['constant("%s", %s);' % (n, n) for n in self.constants if n in names]
        lines += ['type<%s>("%s", "");' % (n, n) for n in self.types if n in names]
        lines += ['function<%s>("%s");' % (n, n) for n in self.types if n in names and n.endswith(("function", "function_c"))]
        lines += ['function<decltype(%s)>("%s");' % (n, n) for n in self.functions if n in names]
        main = self.folder / "facts.cpp"
        main.write_text('#include "mpi/mpi_header.h"\n' + PRELUDE + "int main() {\n  " + "\n  ".join(lines) + "\n}\n")
        table = self.folder / "symbols.c"   # stands for the MPI's library
        table.write_text("".join("char %s;\n" % s for s in self.symbols) + "const char* symbol_at(const void* place) {\n" +
                         "".join('  if (place == &%s) return "%s";\n' % (s, s) for s in self.symbols) + "  return 0;\n}\n")
        program, other = self.folder / "facts", self.folder / "symbols.o"
        for command in ((self.compiler, "-x", "c", "-c", table, "-o", other),
                        (self.compiler, *self.defines(header), main, other, "-o", program)):
            out = self.run(*command)
            if out.returncode:
                self.fail("%s: %s" % (header or self.header, out.stderr.strip()[:3000]))
                return {}
        return dict(line.split(" ", 1) for line in self.run(program).stdout.splitlines())

    def compare(self, header):
        names = self.present(header)
        ours, theirs = self.facts(None, names), self.facts(header, names)
        if not ours or not theirs:
            return
        self.missing -= names
        self.count_parameters(header, names)
        draft = theirs.get("MPI_SEEK_SET") == DRAFT["MPI_SEEK_SET"]
        for name in sorted(ours):
            want = DRAFT[name] if draft and name in DRAFT else ours[name]
            if name in OF_SOME and theirs.get(name) == theirs["MPI_DATATYPE_NULL"]:
                continue
            if theirs.get(name) != want:
                self.fail("%s: %s is %s, ours is %s" % (header, name, theirs.get(name), want))
        print("%s: %d facts compared%s" % (header, len(ours), ", a draft's numbers" if draft else ""))

    def count_parameters(self, header, names):
        """The stubs of src/preload hand on five words unless symbols.txt says how many parameters there are."""
        lines = ["template <class R, class... A>", "constexpr int parameters(R (*)(A...)) { return sizeof...(A); }"]
        for line in (self.source / "src/api/symbols.txt").read_text().splitlines():
            kind, *words = line.split() or [""]
            if not re.fullmatch("C[6-9]?", kind):
                continue
            wanted = "<= 5" if kind == "C" else "== " + kind[1]
            for name in ("PMPI_" + word for word in words):
                if name in names:
                    lines += ["#ifndef " + name, 'static_assert(parameters(&%s) %s, "%s");' % (name, wanted, name), "#endif"]
        if "MPI_Fint" in names:
            lines.append('static_assert(sizeof(MPI_Fint) == sizeof(mercutio::Fint), "MPI_Fint");')
        file = self.folder / "parameters.cpp"
        file.write_text('#include "mpi/mpi_header.h"\n' + "\n".join(lines) + "\n")
        out = self.run(self.compiler, "-fsyntax-only", *self.defines(header), file)
        if out.returncode or len(lines) < 100:
            self.fail("parameters by %s: %s" % (header, out.stderr.strip()[:2000]))

    def compile_exports(self, header):
        sources = [f for f in sorted((self.source / "src/api").glob("*.cpp")) if "MERCUTIO_MPI_FUNCTION(" in f.read_text()]
        if not sources:
            self.fail("no source of src/api exports a function of MPI")
        no_const = re.search(r"Request_get_status_any\(int count, MPI_Request", Path(header).read_text())   # Intel MPI's
        flags = [*self.defines(header), *(["-DMERCUTIO_LISTS_WITHOUT_CONST"] if no_const else [])]
        together = self.folder / "exports.cpp"
        together.write_text("".join('#include "%s"\n' % file.resolve() for file in sources))
        out = self.run(self.compiler, "-fsyntax-only", *flags, "-I", self.folder, together)
        if out.returncode:
            self.fail("with %s: %s" % (header, out.stderr.strip()[:2000]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--compiler", required=True)
    p.add_argument("--source", required=True, type=Path)
    p.add_argument("--abi", required=True, choices=("mpich", "openmpi", "standard"))
    p.add_argument("headers", nargs="+")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mercutio_revision.h").write_text('#pragma once\n#define MERCUTIO_REVISION ""\n')
        checker = Checker(a.compiler, a.source, a.abi, Path(folder))
        for header in map(Path, a.headers):
            header = header.resolve()
            checker.compare(header)
            checker.compile_exports(header)
        for name in sorted(checker.missing):
            checker.fail("%s is in none of these headers" % name)
    sys.exit(1 if checker.bad else 0)


if __name__ == "__main__":
    main()
