#!/usr/bin/env python3
"""Makes a page or a Perfetto trace of what `mercutio report --json` prints: report.py job.json [--html page] [--perfetto file] [--compare other.json]"""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def load(path):
    from mercutio_report.job import Job
    with (sys.stdin if path == "-" else open(path, encoding="utf-8", errors="replace")) as stream:
        return Job.load(stream)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", help="the JSON, - for standard input")
    parser.add_argument("--html")
    parser.add_argument("--perfetto")
    parser.add_argument("--compare", help="the JSON of another run")
    options = parser.parse_args()
    job = load(options.job)
    if options.perfetto:
        from mercutio_report import perfetto
        Path(options.perfetto).write_text(perfetto.export(job), encoding="utf-8")
    if options.html:
        try:
            from mercutio_report import page
        except ImportError as error:
            sys.exit(f"mercutio report: the page needs Python's matplotlib and Jinja2 (Debian: python3-matplotlib python3-jinja2): {error}")
        Path(options.html).write_text(page.render(job, load(options.compare) if options.compare else None), encoding="utf-8")


if __name__ == "__main__":
    main()
