#!/usr/bin/env python3
"""The version is the one of CMakeLists.txt wherever else it is written; the date is that of the CHANGELOG.

    versions.py SOURCE      also changes each place in turn, in memory, which must be seen
"""
import re
import sys
from email.utils import parsedate_to_datetime
from pathlib import Path

CMAKE, CHANGELOG, CITATION, DEBIAN = "CMakeLists.txt", "CHANGELOG.md", "CITATION.cff", "packaging/debian/changelog"
TEMPLATES = ["packaging/spack/package.py", "packaging/easybuild/Mercutio.eb", "packaging/conda/recipe.yaml", "packaging/apptainer/mercutio.def"]


def findings(texts):
    version = re.search(r"^project\(mercutio VERSION (\S+)", texts[CMAKE], re.M)[1]
    released, date = re.search(r"^## \[([0-9.]+)\] - (\S+)", texts[CHANGELOG], re.M).groups()
    debian = re.match(r"mercutio \(([0-9.]+)-\w+\)", texts[DEBIAN])[1]
    day = parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", texts[DEBIAN], re.M)[1]).date().isoformat()
    said = {CHANGELOG: (released, date), DEBIAN: (debian, day),
            CITATION: (re.search(r"^version: (\S+)", texts[CITATION], re.M)[1], re.search(r"^date-released: (\S+)", texts[CITATION], re.M)[1])}
    yield from (f"{place} has {words}, not {(version, date)}" for place, words in said.items() if words != (version, date))
    yield from (f"{name} has the version, not @VERSION@" for name in TEMPLATES if version in texts[name])
    yield from (f"{name} has a checksum, not @SHA256@" for name in TEMPLATES if re.search(r"\b[0-9a-f]{64}\b", texts[name]))


def main():
    source = Path(sys.argv[1])
    texts = {name: (source / name).read_text() for name in (CMAKE, CHANGELOG, CITATION, DEBIAN, *TEMPLATES)}
    found = list(findings(texts))
    version = re.search(r"^project\(mercutio VERSION (\S+)", texts[CMAKE], re.M)[1]
    for name in (CMAKE, CHANGELOG, CITATION, DEBIAN):
        if not list(findings({**texts, name: texts[name].replace(version, "0.0.99")})):
            found.append(f"another version in {name} is not seen")
    for name in TEMPLATES:
        if not list(findings({**texts, name: texts[name].replace("@VERSION@", version)})):
            found.append(f"the version in {name} is not seen")
    print("\n".join(found) if found else f"version {version} everywhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
