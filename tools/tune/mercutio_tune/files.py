"""What can be known before the first run of the files that are named: runs take long, and their result must find its place."""
import os
from pathlib import Path

from . import profile


class FileError(Exception):
    pass


def check_place(path, what):
    """FileError unless a file can be written there. Its folder must exist."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise FileError(f"{what} {path}: it is a directory")
    if not os.path.isdir(folder):
        raise FileError(f"{what} {path}: there is no directory {folder}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise FileError(f"{what} {path}: it can't be written")


def check_profile(options):
    """Missing folders are made when the profile is written."""
    folder = there = Path(options.profile).absolute().parent if options.profile else profile.folder().absolute()
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise FileError(f"the profile can't be written to {folder}: {there} is no directory that can be written; --profile FILE names another place")
    if options.profile and os.path.isdir(options.profile):
        raise FileError(f"--profile {options.profile}: it is a directory")


def check(options):
    """FileError. Returns the hints of --verify, else nothing."""
    check_profile(options)
    if options.json:
        check_place(options.json, "--json")
    if not options.verify:
        return {}
    try:
        hints = profile.hints_in(options.verify)
    except OSError as error:
        raise FileError(f"--verify {options.verify}: {error.strerror}") from None
    if not hints:
        raise FileError(f"--verify {options.verify}: it holds no hints")
    return hints
