#!/usr/bin/env python3
"""Checks the Spack recipe as far as that goes without Spack: its directives in place of Spack's, its checksum, and CMake with the
arguments that it gives, with all variants and without any. A setting that the build doesn't know, or can't have, is an error.

    check.py RECIPE TARBALL [--configure TREE FOLDER]
"""
import argparse
import hashlib
import runpy
import subprocess
import sys
import types
from pathlib import Path


class Spec:
    def __init__(self, on):
        self.on = on

    def satisfies(self, wanted):
        return wanted[0] == "+" and wanted[1:] in self.on


class CMakePackage:
    """What of Spack's class of this name the recipe uses."""

    def __init__(self, on):
        self.spec = Spec(on)

    def define(self, name, value):
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}"

    def define_from_variant(self, name, variant):
        if variant not in DIRECTIVES["variant"]:
            raise SystemExit(f"no variant {variant}")
        return self.define(name, variant in self.spec.on)


DIRECTIVES = {name: {} for name in ("version", "variant", "depends_on", "conflicts", "requires", "license")}


def directive(name):
    def keep(first, *others, **named):
        DIRECTIVES[name][first] = named
    return keep


def decorator(*_words, **_named):
    return lambda function: function


def load(recipe):
    """The recipe's class. Names that Spack gives a recipe and that aren't here are errors of the recipe."""
    package = types.ModuleType("spack.package")
    package.__dict__.update({name: directive(name) for name in DIRECTIVES}, run_after=decorator, on_package_attributes=decorator)
    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    cmake.CMakePackage = CMakePackage
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules.update({package.__name__: package, cmake.__name__: cmake})
    return runpy.run_path(str(recipe))["Mercutio"]


def findings(recipe, tarball):
    made = load(recipe)
    for name, named in DIRECTIVES["depends_on"].items():
        if named.get("when", "+")[1:] not in {"", *DIRECTIVES["variant"]}:
            yield f"{name} is needed when {named['when']}, which is no variant"
    if not made.__doc__ or not made.homepage or not DIRECTIVES["license"]:
        yield "description, home page or licence are missing"
    versions = DIRECTIVES["version"]
    if [f"mercutio-{version}.tar.gz" for version in versions] != [tarball.name] or not made.url.endswith("/" + tarball.name):
        yield f"the versions are {', '.join(versions)} from {made.url}, the tarball is {tarball.name}"
    elif versions != {version: {"sha256": hashlib.sha256(tarball.read_bytes()).hexdigest()} for version in versions}:
        yield "the checksum is not the tarball's"


def configure_findings(made, tree, folder):
    for on in (set(DIRECTIVES["variant"]), set()):
        done = subprocess.run(["cmake", "-S", tree, "-B", f"{folder}/{'all' if on else 'none'}", *made(on).cmake_args()],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0 or "not used by the project" in done.stderr:
            yield f"with {sorted(on)}: {done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("tarball", type=Path)
    parser.add_argument("--configure", nargs=2, metavar=("TREE", "FOLDER"))
    options = parser.parse_args()
    found = list(findings(options.recipe, options.tarball))
    if options.configure:
        found += configure_findings(load(options.recipe), *options.configure)
    print("\n".join(found) if found else f"{options.recipe}: no findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
