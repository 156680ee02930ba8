#!/usr/bin/env python3
"""Makes a page or a Perfetto trace of what `mercutio report --json` prints: report.py job.json [--html page] [--perfetto file] [--compare other.json]"""
import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def load(path):
    from mercutio_report.job import Job
    with open(path, encoding="utf-8", errors="replace") as stream:
        return Job.load(stream)


def in_proc(path):
    """Links there lead to what a process has open, which need not be what their text names."""
    return os.path.realpath(os.path.dirname(path)).startswith("/proc/")


def behind_links(path):
    for _ in range(40):
        if in_proc(path) or not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return path


def write(path, text):
    """A file whole or not at all: until then an earlier one stays. Into a pipe or a device, as it comes."""
    target = behind_links(path)
    plain = not in_proc(target) and (os.path.isfile(target) or not os.path.exists(target))
    fresh = Path(f"{target}.new-{os.getpid()}" if plain else target)
    try:
        fresh.write_text(text, encoding="utf-8")
        if plain:
            os.replace(fresh, target)
    except OSError as error:
        if plain:
            fresh.unlink(missing_ok=True)
        sys.exit(f"mercutio report: {path}: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", help="the JSON")
    parser.add_argument("--html")
    parser.add_argument("--perfetto")
    parser.add_argument("--compare", help="the JSON of another run")
    options = parser.parse_args()
    job = load(options.job)
    if options.perfetto:
        from mercutio_report import perfetto
        write(options.perfetto, perfetto.export(job))
    if options.html:
        try:
            from mercutio_report import page
        except ImportError as error:
            sys.exit(f"mercutio report: the page needs Python's matplotlib and Jinja2 (Debian: python3-matplotlib python3-jinja2): {error}")
        write(options.html, page.render(job, load(options.compare) if options.compare else None))


if __name__ == "__main__":
    main()
