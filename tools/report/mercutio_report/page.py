"""The page: one HTML file that needs nothing else."""
import re
from pathlib import Path

import jinja2

from . import charts
from .job import PHASE_LABELS, bytes_text, count_text, rate_text, seconds_text

MOST_FILES, SHOWN_FILES = 50, 6
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def differences(job, other):
    rows = [("run", job.seconds, other.seconds), ("in MPI-IO, mean of the ranks", job.held(), other.held())]
    mine, theirs = job.phases(), other.phases()
    for name, label in PHASE_LABELS.items():
        if mine.get(name, 0) or theirs.get(name, 0):
            rows.append((label, mine.get(name, 0) / job.known_ranks, theirs.get(name, 0) / other.known_ranks))
    for name, a, b in rows:
        yield name, seconds_text(a), seconds_text(b), f"{a / b:.2f}" if b else ""


def doubts(job, other):
    """Why two runs may not be comparable."""
    for what, mine, theirs in (("programs", job.program, other.program), ("numbers of ranks", job.ranks, other.ranks), ("numbers of nodes", job.hosts, other.hosts)):
        if mine != theirs:
            yield f"They are runs of different {what}: {mine} and {theirs}."
    if job.pattern and other.pattern and job.pattern != other.pattern:
        yield "They don't make the same accesses."


def anchor(title):
    return title.lower().replace(" ", "-")


def shown(value):
    """Text as HTML may hold it: without control characters, and without marks that turn the direction of writing."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value   # no Markup, which is the page's own


def render(job, other=None):
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, finalize=shown)
    environment.filters.update(seconds=seconds_text, bytes=bytes_text, rate=rate_text, count=count_text, anchor=anchor)
    drawn = [
        ("Comparison", "Where the time of both runs went.", charts.comparison(job, other) if other else None),
        ("Where the time went", "The run, the part of it that calls of MPI-IO held the ranks, and what that was spent on.", charts.waterfall(job)),
        ("Who worked and who waited", "The same for every rank.", charts.by_rank(job)),
        ("Rates over time and ranks", "When each rank moved how much.", charts.heat_map(job)),
        ("The busiest ranks", "Those that spent most time at the storage: as a rule the aggregators.", charts.timeline(job)),
        ("Load", "What reached the storage, and through whom.", charts.load(job)),
        ("Sizes of accesses", "What the program asked for, and what the storage was given after aggregation.", charts.sizes(job)),
    ]
    drawn = [chart for chart in drawn if chart[2]]
    contents = ["What costs most", *(title for title, _, _ in drawn), "Files", "The run"]
    page = environment.get_template("page.html.j2")
    strips = [charts.layout_strip(job, file) for file in job.files[:SHOWN_FILES]]
    return page.render(job=job, other=other, contents=contents, charts=drawn, strips=strips, differences=list(differences(job, other)) if other else [],
                       doubts=list(doubts(job, other)) if other else [], most_files=MOST_FILES, shown_files=SHOWN_FILES)
