#!/usr/bin/env python3
"""How long a browser needs for the report of a large job: opens.py [--ranks 1000] [--events 20000] [--browser chromium] [--rounds 3] [--check]

Makes the page of a made-up job (synthetic.py), opens it in a headless Chromium, and prints its size and the time until all of it is
painted: that of the whole browser from its start to its end, less the same for an empty page, the best of some rounds each. Bars (--check: exit code 1 if one is missed): 3 s, 5 MB.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import synthetic

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT = os.path.join(HERE, "..", "..", "tools", "report", "report.py")
MOST_SECONDS, MOST_BYTES = 3.0, 5_000_000
EMPTY = "<!DOCTYPE html><title>empty</title>"


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ranks", type=int, default=1000)
    p.add_argument("--events", type=int, default=20000)
    p.add_argument("--browser", default=shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"))
    p.add_argument("--python", default="/usr/bin/python3", help="with matplotlib and Jinja2")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--check", action="store_true")
    return p.parse_args()


def make_page(args, folder):
    job, page = os.path.join(folder, "job.json"), os.path.join(folder, "report.html")
    with open(job, "w") as file:
        json.dump(synthetic.job(args.ranks, args.events), file)
    subprocess.run([args.python, REPORT, job, "--html", page], check=True)
    return page


def seconds_of(args, page, folder):
    """Of the browser from its start until it has painted all of the page and ends."""
    picture = os.path.join(folder, "picture.png")
    if os.path.exists(picture):
        os.remove(picture)
    start = time.monotonic()
    job = subprocess.run([args.browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + os.path.join(folder, "profile"),
                          "--window-size=1100,3300", "--screenshot=" + picture, "file://" + page],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=300)
    if not os.path.exists(picture):
        sys.exit("%s did not open the page: %s" % (args.browser, job.stderr[-1000:]))
    return time.monotonic() - start


def main():
    args = parse_arguments()
    if not args.browser:
        print("there is no Chromium here (Debian: chromium)")
        return 77
    folder = tempfile.mkdtemp(prefix="mercutio-opens-")
    try:
        page = make_page(args, folder)
        size = os.path.getsize(page)
        empty = os.path.join(folder, "empty.html")
        with open(empty, "w") as file:
            file.write(EMPTY)
        nothing = min(seconds_of(args, empty, folder) for _ in range(args.rounds))
        whole = min(seconds_of(args, page, folder) for _ in range(args.rounds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = max(0.0, whole - nothing)
    print("%d ranks: %.2f MB (bar %.0f), open in %.2f s (bar %.0f); with the start and the end of the browser %.2f s"
          % (args.ranks, size / 1e6, MOST_BYTES / 1e6, seconds, MOST_SECONDS, whole))
    return 1 if args.check and (seconds > MOST_SECONDS or size > MOST_BYTES) else 0


if __name__ == "__main__":
    sys.exit(main())
