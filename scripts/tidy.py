#!/usr/bin/env python3
"""Checks the rules of the house that a compiler does not check. Runs as the test `tidy`; prints one line per finding.

  arrows      an include may only look along base <- model <- {plan, comm, storage} <- engine <- file <- mpi <- api, and inside
              engine/ along progress <- agreement <- io <- window <- what is in engine/ itself
  mpi.h       only src/mpi and src/api know an MPI header
  size        functions up to 60 lines and 5 parameters, files up to 500 lines; scripts/tidy_exceptions.txt lists the
              present exceptions with their limit: an entry may shrink or go, a new one needs a reason in review
  words       no notes to self, no disabled code; no output, exit or environment access in the library
  coroutines  co_await and co_return only in engine/, file/ and remote/
  guards      a thread of the library is started by base/threads.h, and a C function of it lets no exception out
  tests       every *_test.cpp is where CMake registers it
  names       no two types of src/ have one name in one namespace: the linker would take functions of one for the other's
  unity       no function of an unnamed namespace in the core has the name of one of base/, which it would hide from others in a unity build (make cross)
  glossary    src/ and tools/ don't use words that docs/engineers/glossary.md replaces
  binaries    git holds pictures and the fuzzers' inputs, and no other binary file

`scripts/tidy.py --ratchet` rewrites the exceptions with what is there now, but never raises a limit.
`scripts/tidy.py --admit` adds entries for what is over the limits today.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "scripts" / "tidy_exceptions.txt"
MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 500, 60, 5

LOOKS_AT = {
    "base": set(),
    "model": {"base"},
    "insight": {"base", "model"},
    "plan": {"base", "model"},
    "comm": {"base", "model"},
    "storage": {"base", "model"},
    "engine": {"base", "model", "plan", "comm", "storage"},
    "remote": {"base", "model", "plan", "comm", "storage", "engine"},
    "file": {"base", "model", "plan", "comm", "storage", "engine"},
    "mpi": {"base", "model", "plan", "comm", "storage", "engine", "file", "insight"},
    "api": {"base", "model", "plan", "comm", "storage", "engine", "file", "insight", "mpi"},
    "preload": set(),
    "drivers": {"base"},   # headers only: nothing of it is linked
    "omp": {"base", "model", "storage"},
}
BINARY_FILES = re.compile(r"docs/.*\.png|tests/fuzz/corpus/.*")
SUFFIXES = {".h", ".cpp", ".c", ".def", ".inc"}
NOTES = re.compile(r"\b(FIX" + r"ME|TO" + r"DO|XXX|HACK)\b|^\s*#\s*if\s+0\b")
LIBRARY_WORDS = re.compile(r"(?<![\w.>:])(?:std::)?(printf|puts|exit|_exit|abort|getenv|setenv)\s*\(|std::cout|std::cerr")
# Where the library may read its environment or must stop a program that cannot go on.
LIBRARY_WORDS_ALLOWED = {
    "getenv": ("src/model/hints", "src/model/environment", "src/api/", "src/preload/", "src/mpi/environment", "src/remote/connection_file"),
    "abort": ("src/base/assert.cpp", "src/preload/", "src/mpi/errors", "src/mpi/errhandler", "src/api/"),
    "exit": ("src/preload/",),
}
# Words that docs/engineers/glossary.md replaces: as a word of its own or as a part of an identifier.
REPLACED = {
    "station": "node buffer", "gapless": "dense", "undertaking": "request body", "habit": "wait predictor", "relay": "node stream or leader",
    "settle": "flush, finish, resolve or complete", "settled": "flushed, finished or resolved", "distrust": "malformed message",
    "absorbing": "cache statistics", "flights": "pending I/O", "landed": "completed", "brief": "inline",
    "lane": "stream",
}
REPLACED_NAMES = {
    "KnownForms": "RunListCache", "StreamForms": "RunListCaches", "AccessForm": "AccessSignature", "StepOrder": "ExchangeSchedule",
    "WaitWatch": "BlockingDetector", "TurnRef": "TicketRef", "ViewWords": "ViewHeader", "least_size": "known_size", "my_place": "my_index",
    "place_bits": "alignment_bits", "kAtOnce": "kPollGap or kImmediate", "kLookIn": "kBusyWindow",
    "session_trouble": "session_recovery", "last_trouble_": "last_failure_",
    "BodyWriter": "RemoteEncoder", "BodyReader": "RemoteDecoder", "Newcomer": "PendingConnection", "Talk": "Handshake", "keep_house": "do_periodic_work",
    "Streak": "SequentialRun", "hand_on": "flush_after_write", "UnitsInTurn": "CyclicUnits", "divide_in_turn": "divide_cyclically",
    "united": "merge_files", "told_layout": "query_layout", "stage_alone": "move_staged", "is_look": "is_query",
}
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")
WORD_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
COROUTINE = re.compile(r"\bco_(await|return|yield)\b")
# A thread that the library starts other than by start_thread, which says so where none can be had.
THREAD = re.compile(r"\bstd::j?thread\s*[({](?!\s*[)}])|\bstd::j?thread\s+\w+\s*[({]|"
                    r"\bpthread_create\s*\(|\bstd::async\b")
THREAD_ALLOWED = ("src/drivers/s3/jobs.h", "src/base/threads.cpp", "src/comm/in_process.cpp")   # the second plays ranks, in tests and tools
GUARDS = {"guarded", "guarded_or", "with_file", "run_on_file"}   # api/call.h
PLAIN_GUARDS = {"attempt", "attempt_or"}                          # base/attempt.h, where MPI's handlers play no part
DEFINITION = re.compile(r"\b(\w+)\s*\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)\s*(?:noexcept\s*)?\{")
# With literals blanked: extern "C", and the macros that stand for it.
C_FUNCTION = re.compile(r'(?:extern " "|MERCUTIO_MPI_FUNCTION\s*\(|MERCUTIO_EXPORT)(?=[^;{}]*\{)')
NAMESPACE_OR_TYPE = re.compile(r"^(?:inline )?(namespace|struct|class|enum class|enum)\b ?(?:\[\[\w+\]\] )?([\w:]*)[^;{}()=]*\{", re.M)
# A function that begins at the margin: its name, and whether it is a definition.
FREE_FUNCTION = re.compile(r"^(?!return|using|template)[a-zA-Z\[][\w:<>,&* \[\]]*[\w>&*\]] [&*]*(\w+)\((?:[^()]|\([^()]*\))*\)[^;={]*[;{]", re.M)
UNITY_FOLDERS = ("base", "model", "plan", "comm", "storage", "engine", "file", "insight")   # core_folders in src/CMakeLists.txt
CONTROL = {"if", "for", "while", "switch", "catch", "return", "sizeof", "else", "do", "alignof", "decltype", "defined"}


def strip(text):
    """The text with comments and literals blanked, line structure kept."""
    def blank(match):
        token = match.group(0)
        if token.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", token)
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]
    pattern = (r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"'
               r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'")
    return re.sub(pattern, blank, text)


def close_of(text, start, pair):
    """Index of the bracket that closes the one at `start`, or -1."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] == pair[0]:
            depth += 1
        elif text[i] == pair[1]:
            depth -= 1
            if depth == 0:
                return i
    return -1


def parameters(text):
    """Number of parameters in the text between a function's parentheses."""
    depth, count = 0, 1
    if text.strip() in ("", "void"):
        return 0
    for char in text:
        depth += char in "(<[{"
        depth -= char in ")>]}"
        count += char == "," and depth == 0
    return count


SIGNATURE = re.compile(r"(?m)^[ \t]*(?:[\w:<>,&*~\[\]\s]+?[\s&*])?((?:[A-Za-z_]\w*::)*(?:~?[A-Za-z_]\w*|operator\S+))\s*\(")


def functions(text):
    """(name, first line, lines, parameters) of each function definition."""
    at = 0
    while match := SIGNATURE.search(text, at):
        at = match.end()
        name = match.group(1)
        opening = match.end() - 1
        closing = close_of(text, opening, "()")
        if closing < 0 or name in CONTROL or text[:match.start(1)].rstrip().endswith((".", "->", "=", "return", "new", "#define")):
            continue
        tail = re.compile(r"\s*(?:const|noexcept|override|final|mutable|->\s*[\w:<>*&, ]+|\s)*(?::(?!:)[^;{]*(?:\{[^{};]*\}[^;{]*)*)?\{").match(text, closing + 1)
        if not tail:
            continue
        end = close_of(text, tail.end() - 1, "{}")
        if end < 0:
            continue
        first = text.count("\n", 0, match.start(1)) + 1
        yield name, first, text.count("\n", match.start(1), end) + 1, parameters(text[opening + 1:closing])
        at = end + 1 if not re.search(r"\b(class|struct|namespace)\b", text[match.start():match.start(1)]) else at


def sources():
    for top in ("src", "include", "tools", "tests", "bench", "examples"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def types(code):
    """The types that code defines outside of functions, with their namespaces, and their offsets. Those of unnamed namespaces are left out."""
    around, at = [], 0   # of each namespace: its name and its end
    for match in NAMESPACE_OR_TYPE.finditer(code):
        around = [(name, end) for name, end in around if end > match.start()]
        end = close_of(code, match.end() - 1, "{}")
        if match.group(1) == "namespace":
            around.append((match.group(2), end))
        elif match.group(2) and match.start() >= at and all(name for name, _ in around):
            yield "::".join([name for name, _ in around] + [match.group(2)]), match.start()
            at = end

ENGINE = ("progress", "agreement", "io", "window", "")   # each looks at those before it; "": what is in engine/ itself


class Tidy:
    def __init__(self):
        self.findings, self.sizes, self.types = [], {}, {}

    def add(self, path, line, text):
        self.findings.append(f"{path.relative_to(ROOT)}:{line}: {text}")

    def check_includes(self, path, text):
        parts = path.relative_to(ROOT).parts
        if parts[0] != "src":
            return
        folder, is_test = parts[1], path.name.endswith("_test.cpp")
        for number, line in enumerate(text.split("\n"), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            target = match.group(2)
            if re.fullmatch(r"mpi(_abi|io|_proto)?\.h", target) and folder not in ("mpi", "api"):
                self.add(path, number, f"{target} outside src/mpi and src/api")
            head = target.split("/")[0]
            if folder == head == "engine" and not is_test:
                here, there = (ENGINE.index("/".join(names[1:-1])) for names in (parts[1:], target.split("/")))
                if there > here:
                    self.add(path, number, f"engine/{ENGINE[here]}/ may not look at engine/{ENGINE[there]}/")
            if match.group(1) == "<" or head not in LOOKS_AT or "/" not in target or head == folder:
                continue
            if head not in LOOKS_AT.get(folder, set()) and not is_test:
                self.add(path, number, f"{folder}/ may not look at {head}/")

    def check_words(self, path, text, code):
        name = str(path.relative_to(ROOT))
        for number, (line, bare) in enumerate(zip(text.split("\n"), code.split("\n")), 1):
            if NOTES.search(line):
                self.add(path, number, "a note to self or disabled code")
            if not name.startswith("src/") or name.endswith("_test.cpp"):
                continue
            for match in LIBRARY_WORDS.finditer(bare):
                word = match.group(1) or match.group(0)
                allowed = LIBRARY_WORDS_ALLOWED.get(word.lstrip("_"), ())
                if not name.startswith(allowed or ("\0",)):
                    self.add(path, number, f"{word} in the library")
            if COROUTINE.search(bare) and path.relative_to(ROOT).parts[1] not in ("engine", "file", "remote"):
                self.add(path, number, "a coroutine outside engine/, file/ and remote/")

    def check_glossary(self, path, text):
        if path.relative_to(ROOT).parts[0] not in ("src", "tools"):
            return
        for number, line in enumerate([path.stem] + text.split("\n")):
            for name in set(IDENTIFIER.findall(line)):
                words = {word.lower() for word in WORD_OF_NAME.findall(name)}
                known = [REPLACED_NAMES.get(name)] + [REPLACED.get(word, REPLACED.get(word[:-1]) if word.endswith("s") else None) for word in words]
                for new in filter(None, known):
                    self.add(path, max(number, 1), f"{name}: docs/engineers/glossary.md has {new} for it")

    def check_threads(self, path, code):
        name = str(path.relative_to(ROOT))
        if not name.startswith("src/") or name.endswith("_test.cpp") or name in THREAD_ALLOWED:
            return
        for number, line in enumerate(code.split("\n"), 1):
            if THREAD.search(line):
                self.add(path, number, "a thread that start_thread (base/threads.h) does not start")

    def check_guards(self, path, code):
        """A C function calls a guard, or a function of its file that does."""
        name = str(path.relative_to(ROOT))
        if not name.startswith(("src/api/", "src/omp/", "src/remote/")) or path.suffix != ".cpp":
            return
        def calls_from(opening):
            return set(re.findall(r"\b(\w+)\s*(?:<[\w:*, ]+>\s*)?\(", code[opening:close_of(code, opening, "{}") + 1]))

        bodies = [(match.group(1), calls_from(match.end() - 1)) for match in DEFINITION.finditer(code)
                  if match.group(1) not in CONTROL]
        guards = GUARDS if name.startswith("src/api/") else GUARDS | PLAIN_GUARDS
        guards |= {name for name, calls in bodies if calls & guards}
        guards |= {name for name, calls in bodies if calls & guards}
        for match in C_FUNCTION.finditer(code):
            opening = code.index("{", match.end())
            head = code[match.start():opening]
            if head.count("(") == 0 or "using namespace" in head:
                continue
            if not calls_from(opening) & guards:
                line = code.count("\n", 0, opening) + 1
                self.add(path, line, "a C function without a guard (api/call.h, base/attempt.h)")

    def check_types(self, path, code):
        name = str(path.relative_to(ROOT))
        if not name.startswith("src/") or name.startswith("src/mpi/abi/") or path.suffix not in (".h", ".cpp"):   # of which a library has one
            return
        for name, offset in types(code):
            other = self.types.setdefault(name, path)
            if other != path:
                self.add(path, code.count("\n", 0, offset) + 1, f"{name} is the name of another type, too, in {other.relative_to(ROOT)}")

    def check_unity(self):
        declared = {match.group(1): path for path in sorted((ROOT / "src/base").glob("*.h")) for match in FREE_FUNCTION.finditer(strip(path.read_text()))}
        for folder in UNITY_FOLDERS:
            for path in sorted((ROOT / "src" / folder).rglob("*.cpp")):
                code = "" if path.name.endswith("_test.cpp") else strip(path.read_text())
                for unnamed in re.finditer(r"^namespace \{\n", code, re.M):
                    for match in FREE_FUNCTION.finditer(code, unnamed.end(), close_of(code, unnamed.start(), "{}")):
                        if match.group(1) in declared:
                            self.add(path, code.count("\n", 0, match.start()) + 1,
                                     f"{match.group(1)} hides that of {declared[match.group(1)].relative_to(ROOT)} in a unity build")

    def check_sizes(self, path, text, code):
        if path.suffix not in (".h", ".cpp", ".c"):
            return
        name = str(path.relative_to(ROOT))
        lines = text.count("\n")
        if lines > MAX_FILE:
            self.sizes[f"file {name}"] = (lines, path, 1)
        if name.startswith("tests/") and path.suffix == ".c":
            return
        for function, first, length, count in functions(code):
            if length > MAX_FUNCTION:
                self.sizes[f"function {name} {function}"] = (length, path, first)
            if count > MAX_PARAMETERS and not name.startswith(("src/api/", "tests/", "src/mpi/")):
                self.sizes[f"parameters {name} {function}"] = (count, path, first)

    def check_registration(self):
        for path in sorted((ROOT / "src").rglob("*_test.cpp")):
            if path.relative_to(ROOT).parts[1] in ("mpi", "api", "preload"):
                lists = path.parent / "CMakeLists.txt"
                if not (lists.is_file() and path.name in lists.read_text()):
                    self.add(path, 1, "this test is not registered by a CMakeLists.txt beside it")
        for path in sorted((ROOT / "tests").rglob("*_test.cpp")):
            texts = [p.read_text() for p in (path.parent / "CMakeLists.txt", path.parent.parent / "CMakeLists.txt") if p.is_file()]
            if not any(path.name in text or path.stem in text or "_test.cpp" in text or "*.cpp" in text for text in texts):
                self.add(path, 1, "this test is not registered by a CMakeLists.txt")

    def check_binaries(self):
        try:
            listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout.decode()
        except (OSError, subprocess.CalledProcessError):
            return   # a tarball
        for path in (ROOT / name for name in listed.split("\0") if name):
            if path.is_file() and not BINARY_FILES.fullmatch(str(path.relative_to(ROOT))) and b"\0" in path.read_bytes()[:8192]:
                self.add(path, 1, "a binary file: left behind by a test?")

    # A decorator that leaves a call out would answer for what it wraps.
    def check_forwarding(self):
        def calls(name, begin, pattern):
            text = strip((ROOT / "src/storage" / name).read_text())
            return set(re.findall(pattern, text[text.index(begin):text.index("\n};", text.index(begin))]))
        wanted = calls("storage.h", "class Storage {", r"\bvirtual [^;{}]*?(?<!~)\b(\w+)\(")
        there = calls("forwarding.h", "class Forwarding ", r"\b(\w+)\([^;{}]*\)(?: const)? override")
        for name in sorted(wanted - there - {"Storage"}):
            self.add(ROOT / "src/storage/forwarding.h", 1, f"Storage::{name} is not handed on")

    def run(self):
        self.check_forwarding()
        for path in sources():
            text = path.read_text(errors="replace")
            code = strip(text)
            self.check_includes(path, text)
            self.check_words(path, text, code)
            self.check_glossary(path, text)
            self.check_threads(path, code)
            self.check_guards(path, code)
            self.check_types(path, code)
            self.check_sizes(path, text, code)
        self.check_unity()
        self.check_registration()
        self.check_binaries()


def read_exceptions():
    entries = {}
    if EXCEPTIONS.is_file():
        for line in EXCEPTIONS.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                limit, key = line.split(None, 1)
                entries[key] = int(limit)
    return entries


def write_exceptions(entries):
    head = ("# What is over the limits of scripts/tidy.py, with its present size. An entry may only shrink; when the code is below\n"
            "# the limit, the entry must go (`scripts/tidy.py --ratchet` does both).\n")
    EXCEPTIONS.write_text(head + "".join(f"{limit} {key}\n" for key, limit in sorted(entries.items())))


def main():
    tidy = Tidy()
    tidy.run()
    entries = read_exceptions()
    if "--ratchet" in sys.argv:
        entries = {key: min(limit, tidy.sizes[key][0]) for key, limit in entries.items() if key in tidy.sizes}
        write_exceptions(entries)
    if "--admit" in sys.argv:
        entries.update({key: size for key, (size, _, _) in tidy.sizes.items() if key not in entries})
        write_exceptions(entries)
    for key, (size, path, line) in sorted(tidy.sizes.items()):
        if size > entries.get(key, 0):
            known = f", its exception allows {entries[key]}" if key in entries else ""
            tidy.add(path, line, f"{key.split()[0]} {key.split()[-1]} has size {size}{known}")
    for key in sorted(set(entries) - set(tidy.sizes)):
        tidy.findings.append(f"scripts/tidy_exceptions.txt: '{key}' is within the limits now: remove the entry")
    print("\n".join(tidy.findings) if tidy.findings else "tidy")
    return 1 if tidy.findings else 0


if __name__ == "__main__":
    sys.exit(main())
