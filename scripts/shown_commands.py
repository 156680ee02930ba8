#!/usr/bin/env python3
"""Checks commands that the documentation shows but doesn't run: `console` blocks, `sh` blocks outside of docs/, and commands in running
text. They need another host, hours or a user's own program; what they name must be there all the same. A block without a language has none.

    scripts/shown_commands.py --build build      docs/, and every page elsewhere: README.md, examples/...

mercutio    the subcommand is one, and its --help has the options
make        the target and the variables are those of the Makefile
ctest       some test has the name or label, or a CMakeLists.txt names it, as its tests may be left out here
ninja       a CMakeLists.txt has the target
cmake -S    the folder has a CMakeLists.txt
scripts     the file is there, and its --help has the options; programs of a build are there

Blocks of TOML are hint files without mistakes, those of Python can be compiled, those of JSON parsed. Functions of files that blocks of C call exist.
"""
import argparse
import functools
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROMPT = re.compile(r"^\w*\$ ")
OURS = re.compile(r"^(mercutio|make|ctest|ninja|scripts/|tests/|bench/)")
LANGUAGES = {"", "c", "console", "json", "python", "sh", "toml"}
OPTION = re.compile(r"--?[A-Za-z][\w-]*")


def blocks(text, language):
    """(line, text) of each block in a language; "" has none."""
    for block in re.finditer(r"(?ms)^ *```(\w*)\n(.*?)^ *```$", text):
        if block.group(1) == language:
            yield text.count("\n", 0, block.start()) + 2, block.group(2)


def wrong_blocks(page, build):
    """(line, finding) of what is in blocks besides commands."""
    text = page.read_text()
    for line, block in blocks(text, ""):
        for n, command in enumerate(block.splitlines()):
            if OURS.match(command) and not re.match(r"mercutio[\w ]*:", command):   # what it prints begins like that
                yield line + n, f"a command in a block that is neither sh nor console: {command}"
    for line, block in blocks(text, "python"):
        try:
            compile(block, page.name, "exec")
        except SyntaxError as error:
            yield line, f"{error}"
    for line, block in blocks(text, "json"):
        try:
            json.loads(block)
        except ValueError as error:
            yield line, f"{error}"
    for line, block in blocks(text, "c"):
        yield from ((line, f"no function {name}") for name in re.findall(r"\bMPI_File_\w+(?=\()", block) if name not in functions())
    for match in re.finditer(r"(?m)^ *(?:```|~~~)([^\n`]+)$", text):
        if match.group(1) not in LANGUAGES:
            yield text.count("\n", 0, match.start()) + 1, f"a block that nothing checks: {match.group(1)}"
    for line, block in blocks(text, "toml"):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(block)
            file.flush()
            code, told = output(str(build / "bin/mercutio"), "hints", "--check", file.name)
        if code != 0:
            yield line, told


def shown(page):
    """(line, command) of each console block, and of each code span that begins with a command of ours."""
    text = page.read_text()
    for block in re.finditer(r"(?ms)^ *```console\n(.*?)^ *```", text):
        line = text.count("\n", 0, block.start()) + 2
        for command in block.group(1).replace("\\\n", "\0").split("\n"):
            if PROMPT.match(command):
                yield line, PROMPT.sub("", command).replace("\0", " ")
            line += 1 + command.count("\0")
    if ROOT / "docs" not in page.parents:   # scripts/doc_commands.py runs those of docs/
        for line, block in blocks(text, "sh"):
            yield from ((line + n, command) for n, command in enumerate(block.splitlines()) if OURS.match(command))
    prose = re.sub(r"(?ms)^ *```.*?^ *```", lambda block: "\n" * block.group(0).count("\n"), text)
    for span in re.finditer(r"`([^`]+)`", prose):
        if OURS.match(span.group(1)) and " " in span.group(1):
            yield prose.count("\n", 0, span.start()) + 1, " ".join(span.group(1).replace("\\|", "|").split())   # | ends a table's cell


@functools.cache
def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@functools.cache
def makefile():
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z][\w-]*):", text, re.M)) | {f"setup-{name}" for name in re.search(r"^SETS = (.*)", text, re.M)[1].split()}, text


@functools.cache
def functions():
    return {f"MPI_{name}" for name in re.findall(r"\bFile_\w+", (ROOT / "src/api/symbols.txt").read_text())}


@functools.cache
def lists():
    return "\n".join(path.read_text() for top in ("src", "tests", "tools", "examples", "bench", "cmake") for path in (ROOT / top).rglob("*")
                     if path.name == "CMakeLists.txt" or path.suffix == ".cmake")


def options_missing(words, text):
    for word in words:
        option = OPTION.match(word)
        if option and option.group(0) == word.split("=")[0] and not re.search(rf"(?<![\w-]){re.escape(option.group(0))}(?![\w-])", text):
            yield f"no option {option.group(0)}"


def of_mercutio(words, build):
    command = [str(build / "bin/mercutio")]
    words = words[:words.index("--")] if "--" in words else words
    if not words or not re.fullmatch(r"[a-z]+", words[0]):
        yield from options_missing(words, output(*command, "--help")[1])
        return
    if not re.search(rf"^  {words[0]}\b", output(*command, "--help")[1], re.M):
        yield f"no command 'mercutio {words[0]}'"
        return
    deeper = len(words) > 1 and words[:2] in (["driver", "check"], ["bench", "overlap"])
    yield from options_missing(words, output(*command, *words[:1 + deeper], "--help")[1])


def of_make(words, _):
    targets, text = makefile()
    for word in words:
        name, assigned, _ = word.partition("=")
        if assigned and name != "DESTDIR" and not re.search(rf"\$\({name}[:)]|^{name} \?=", text, re.M):
            yield f"the Makefile has no {name}"
        elif not assigned and re.fullmatch(r"[a-z][\w-]*", word) and word not in targets:
            yield f"the Makefile has no target {word}"


def of_ctest(words, build):
    for option, pattern in zip(words, words[1:]):
        if option not in ("-R", "-L"):
            continue
        told = output("ctest", "--test-dir", str(build), "-N", option, pattern)[1]
        parts = re.findall(r"\w+", pattern.split("|")[0])
        if "Total Tests: 0" in told and not re.search(rf"\b{parts[-1]}\b", lists()):
            yield f"no test for {option} {pattern}"


def of_ninja(words, _):
    for word in words:
        if re.fullmatch(r"[a-z][\w-]+", word) and word != "build" and not re.search(rf"\b{word}\b", lists()):
            yield f"no target {word}"


def of_file(program, words, build):
    path = build / program.removeprefix("build/") if program.startswith("build/") else ROOT / program
    if not path.exists():
        if not re.search(r"/(mpich|openmpi)/", program):   # of an MPI that isn't here
            yield f"no {program}"
    elif path.suffix == ".py":
        code, text = output(sys.executable, str(path), "--help")
        if code == 0:
            words = words[:next((i for i, word in enumerate(words) if not word.startswith("-") and "/" in word), len(words))]
            yield from options_missing(words, text)


def findings(command, build):
    try:
        words = shlex.split(command, comments=True)
    except ValueError:   # "..." cut off inside of quotes
        words = command.split()
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    words = [word for word in words if word not in ("...", ">", "|")]
    if not words:
        return
    program, rest = words[0].removeprefix("build/bin/") if words[0] == "build/bin/mercutio" else words[0], words[1:]
    if program == "cmake" and "--target" in rest:
        program, rest = "ninja", rest[rest.index("--target") + 1:][:1]
    if program == "cmake" and rest[:1] == ["-S"]:
        yield from of_file(f"{rest[1]}/CMakeLists.txt", [], build)
    checks = {"mercutio": of_mercutio, "make": of_make, "ctest": of_ctest, "ninja": of_ninja}
    if program in checks:
        yield from checks[program](rest, build)
    elif re.match(r"(build|tests|scripts|bench)/", program):
        yield from of_file(program, rest, build)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build.resolve()
    count, failed = 0, 0
    for page in (*sorted(ROOT.glob("*.md")), *(page for top in ("docs", "examples", "tests") for page in sorted((ROOT / top).rglob("*.md")))):
        if page.parent.name == "results":   # what was run once
            continue
        for line, command in shown(page):
            count += 1
            for finding in findings(command, build):
                failed += 1
                print(f"{page.relative_to(ROOT)}:{line}: {finding}: {command}")
        for line, finding in wrong_blocks(page, build):
            failed += 1
            print(f"{page.relative_to(ROOT)}:{line}: {finding}")
    print(f"{count} commands, {failed} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
