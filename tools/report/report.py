#!/usr/bin/env python3
"""Makes a page or a Perfetto trace of what `mercutio report --json` prints: report.py job.json [--html page] [--perfetto file] [--compare other.json]"""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def load(path):
    from mercutio_report.job import Job
    with open(path, encoding="utf-8", errors="replace") as stream:
        return Job.load(stream)


def write(path, text):
    """Whole or not at all."""
    path = Path(path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        if path.is_file():
            path.unlink()
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
