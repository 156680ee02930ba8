#!/usr/bin/env python3
"""Checks the prose of the documentation. Runs as the test `docs.prose`; prints one line per finding.

  length     a sentence has at most 25 words, the sentences of a page 15 on average
  words      no idioms and no private words (BANNED, and the replaced words of scripts/tidy.py)
  spelling   aspell, British English, with the words of the project in scripts/words.txt
  links      every relative link of README, CONTRIBUTING and examples leads to a file (MkDocs checks those of the site)
  dates      figures with a date are in docs/results only
  changelog  an entry is one line of at most 140 characters, under Added, Changed or Fixed

Code, tables' code and blocks of code are not prose. Generated pages are checked through what they are generated from. Of man pages the length, words
and dates are checked, without the names and synopses of commands and functions.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from tidy import REPLACED  # noqa: E402

LONGEST, MEAN = 25, 15
BANNED = {
    "so many": "a number, or 'as many'", "beside it": "next to it, or what is meant", "comes out": "results", "come out": "result",
    "of its own will": "voluntarily", "stands in": "is in", "goes its way": "what is meant", "lies on": "is on",
    "lie on": "are on", "lies in": "is in", "for good": "permanently", "by hand of": "by", "it is said": "who says it", "foretold": "predicted",
    "in due course": "when", "at the end of the day": "-", "out of the box": "without set-up", "under the hood": "inside", "leverage": "use",
    "utilize": "use", "simply": "-", "obviously": "-", "of course": "-", "there is one to": "-", "may not read": "cannot read",
}
LEFT_OUT = {"docs/centres/conformance.md"}   # names of tests and of what runs them, written by `make suites`
SENTENCE_END = re.compile(r"(?<!\b[A-Z])(?<!e\.g)(?<!i\.e)(?<!al)(?<!etc)[.!?](?:\s|$)")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


def pages():
    listed = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted((ROOT / "docs").rglob("*.md")),
              *sorted((ROOT / "examples").rglob("*.md")), *sorted((ROOT / "docs/man").glob("*.[1-9]"))]
    return [page for page in listed if str(page.relative_to(ROOT)) not in LEFT_OUT]


def plain(text):
    """A line without code, addresses, marks and HTML."""
    text = re.sub(r"<!--.*?-->", "", text)
    text = re.sub(r"`[^`]*`", " x ", text)
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"https?://\S+|[*_#]{1,3}|\$[^ ]*", " ", text)


def paragraphs(page):
    """(line, text, is_cell) of each paragraph, list item, heading and cell of a table."""
    if page.suffix != ".md":
        yield from man_paragraphs(page)
        return
    block, start, fence = [], 0, False
    for number, line in enumerate(page.read_text().split("\n") + [""], 1):
        if line.lstrip().startswith("```"):
            fence = not fence
            line = ""
        elif fence:
            continue
        begins = re.match(r"\s*(?:[-*]|\d+\.)\s+|#+ |\|", line)
        if (not line.strip() or begins) and block:
            yield start, plain(" ".join(block)), False
            block = []
        if line.startswith("|"):
            if "results" not in page.parts and not re.fullmatch(r"[|:\s-]+", line):
                for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                    yield number, plain(cell), True
        elif line.startswith("#"):
            yield number, plain(line), True
        elif line.strip():
            if not block:
                start = number
            block.append(re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", line).strip())


def man_line(line):
    """The text of a line of a man page: a name in a font of its own is code. Nothing for other macros, which end a paragraph."""
    if not line.startswith("."):
        return line.replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")
    font = re.match(r"\.(?:B|I|BR|BI|IR|RB|RI) (.*)", line)
    if not font:
        return None
    end = re.search(r"[ )]([.,;:])$", font.group(1))
    return "x" + (end.group(1) if end else "")


def man_paragraphs(page):
    """The same of a man page, without the terms of lists and the sections NAME and SYNOPSIS."""
    block, start, example, section, term = [], 0, False, "", False
    for number, line in enumerate(page.read_text().split("\n") + [".PP"], 1):
        example = example and not line.startswith(".fi") or line.startswith(".nf")
        text = None if example else man_line(line)
        if text is None:
            if block and section not in ("NAME", "SYNOPSIS"):
                text = re.sub(r"(?<!\w)--?[a-z][\w-]*(?:=\S+)?|\S*(?:::?/|[$=~/_])\S*?(?=[.,;:)]*(?:\s|$))|\*", " x ", " ".join(block))
                yield start, re.sub(r"\s+([.,;:])", r"\1", plain(text)), False
            block, term = [], line.startswith(".TP")
            section = line[4:].strip() if line.startswith(".SH") else section
        elif term:
            term = False
        elif text.strip():
            start = start if block else number
            block.append(text.strip())


def sentences(text):
    return [words for part in SENTENCE_END.split(text) if (words := re.findall(r"[A-Za-z0-9][\w'’.,/=-]*", part))]


class Prose:
    def __init__(self):
        self.findings = []

    def add(self, page, line, text):
        self.findings.append(f"{page.relative_to(ROOT)}:{line}: {text}")

    def check_page(self, page):
        lengths = []
        replaced = re.compile(r"\b(" + "|".join(sorted(REPLACED)) + r")s?\b", re.I)
        banned = re.compile(r"\b(" + "|".join(sorted(map(re.escape, BANNED))) + r")\b", re.I)
        for line, text, is_cell in paragraphs(page):
            for words in sentences(text):
                if len(words) > LONGEST:
                    self.add(page, line, f"{len(words)} words in a sentence: {' '.join(words[:8])} ...")
                if not is_cell:
                    lengths.append(len(words))
            for match in banned.finditer(text):
                self.add(page, line, f"'{match.group(0)}': write {BANNED[match.group(1).lower()]}")
            if page.name != "glossary.md":
                for match in replaced.finditer(text):
                    self.add(page, line, f"'{match.group(0)}': the glossary has {REPLACED[match.group(1).lower()]}")
            if DATE.search(text) and "results" not in page.parts:
                self.add(page, line, "a dated figure: it belongs into docs/results")
        if lengths and sum(lengths) / len(lengths) > MEAN:
            self.add(page, 1, f"{sum(lengths) / len(lengths):.1f} words a sentence on average, more than {MEAN}")

    def check_links(self, page):
        if "docs" in page.relative_to(ROOT).parts:
            return
        for number, line in enumerate(page.read_text().split("\n"), 1):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
                if not target.startswith("http") and not (page.parent / target).exists():
                    self.add(page, number, f"no file {target}")

    def check_changelog(self):
        page, section = ROOT / "CHANGELOG.md", ""
        for number, line in enumerate(page.read_text().split("\n"), 1):
            if line.startswith("#"):
                section = line.strip("# ") if line.startswith("### ") else ""
            elif line.startswith("-") and section not in ("Added", "Changed", "Fixed"):
                self.add(page, number, "an entry that is not under Added, Changed or Fixed")
            elif section and line and not line.startswith("-") and not line.endswith(":"):
                self.add(page, number, "an entry of more than one line")
            if section and len(line) > 140:
                self.add(page, number, f"{len(line)} characters in a line, more than 140")

    def check_spelling(self, listed):
        if not shutil.which("aspell"):
            return False
        known = set((ROOT / "scripts/words.txt").read_text().split())
        places = {}
        for page in (page for page in listed if page.suffix == ".md"):   # names in man pages are not marked as code
            for line, text, _ in paragraphs(page):
                for word in re.findall(r"[A-Za-z]+(?:'[a-z]+)?", re.sub(r"[\w./-]*[\d_/][\w./-]*|\b[\w-]+\.\w+\b", " ", text)):
                    places.setdefault(word, (page, line))
        wrong = subprocess.run(["aspell", "list", "--lang=en_GB", "--encoding=utf-8", "--ignore=2"], input="\n".join(places), capture_output=True,
                               text=True, check=True).stdout
        for word in sorted(set(wrong.split()) - known):
            self.add(*places.get(word, (listed[0], 1)), f"spelling: {word}")
        return True


def main():
    prose, listed = Prose(), pages()
    only = [Path(word).resolve() for word in sys.argv[1:]]
    listed = [page for page in listed if not only or page in only]
    for page in listed:
        prose.check_page(page)
        prose.check_links(page)
    prose.check_changelog()
    spelled = prose.check_spelling(listed)
    print("\n".join(prose.findings) if prose.findings else "prose is plain" + ("" if spelled else "; aspell is missing"))
    return 1 if prose.findings else 0


if __name__ == "__main__":
    sys.exit(main())
