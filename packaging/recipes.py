#!/usr/bin/env python3
"""Writes the recipes of packaging/ for a release tarball: its version, checksum and address come from the tarball alone.

    packaging/recipes.py TARBALL FOLDER [--url URL]      prints the files, which are in FOLDER/recipes

URL is where the recipes fetch the tarball; without it, where it is now. In the templates are @VERSION@, @SHA256@, @URL@, and @HOME@,
the folder of the URL.
"""
import argparse
import hashlib
import re
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Each template, and the file that its tool expects.
RECIPES = {
    "spack/package.py": "spack/packages/mercutio/package.py",
    "spack/repo.yaml": "spack/repo.yaml",
    "easybuild/Mercutio.eb": "easybuild/Mercutio-@VERSION@-GCCcore-13.3.0.eb",
    "conda/recipe.yaml": "conda/recipe.yaml",
    "apptainer/mercutio.def": "apptainer/mercutio.def",
}


def facts(tarball, url):
    """What the placeholders stand for."""
    with tarfile.open(tarball) as archive:
        top = archive.getnames()[0].split("/")[0]
        cmake = archive.extractfile(f"{top}/CMakeLists.txt").read().decode()
    version = re.search(r"^project\(mercutio VERSION (\S+)", cmake, re.M)[1]
    if top != f"mercutio-{version}" or tarball.name != f"{top}.tar.gz":
        raise SystemExit(f"recipes.py: {tarball.name} holds version {version} in {top}")
    url = url or tarball.resolve().as_uri()
    return {"VERSION": version, "SHA256": hashlib.sha256(tarball.read_bytes()).hexdigest(), "URL": url, "HOME": url.rpartition("/")[0]}


def filled(text, values):
    return re.sub(r"@([A-Z0-9]+)@", lambda match: values[match[1]], text)


def write(tarball, folder, url=None):
    values = facts(tarball, url)
    for template, target in RECIPES.items():
        path = folder / "recipes" / filled(target, values)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled((HERE / template).read_text(), values))
        yield path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tarball", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url")
    options = parser.parse_args()
    for written in write(options.tarball, options.folder, options.url):
        print(written)
