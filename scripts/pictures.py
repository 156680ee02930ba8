#!/usr/bin/env python3
"""Draws the pictures of the documentation as SVG into docs/pictures; with --check only says whether they are fresh.

Each picture has a ground of its own and follows the reader's light or dark scheme. Shades differ in lightness, so that
they can be told apart in grey.
"""
import sys
from html import escape

from generated import ROOT, write_or_check

FOLDER = ROOT / "docs/pictures"
STYLE = """
  .ground { fill: #ffffff; stroke: #b8bcc4 }
  .frame { fill: none; stroke: #6b7280; stroke-dasharray: 5 4 }
  .box { fill: #f1f3f6; stroke: #4b5563 }
  .ours { fill: #d5e4f4; stroke: #1f4e79 }
  .disk { fill: #ece4cf; stroke: #7a6430 }
  .line { fill: none; stroke: #374151; stroke-width: 1.6; marker-end: url(#head) }
  .dotted { stroke-dasharray: 3 4 }
  .arrow { fill: #374151 }
  text { fill: #111827; font-family: sans-serif; font-size: 14px }
  .small { font-size: 12px }
  .strong { font-weight: bold }
  .rank0 { fill: #16395c; stroke: #4b5563 } .rank1 { fill: #5686b8; stroke: #4b5563 }
  .rank2 { fill: #a9c6e4; stroke: #4b5563 } .rank3 { fill: #eaf2fa; stroke: #4b5563 }
  .on0, .on1 { fill: #ffffff } .on2, .on3 { fill: #111827 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #1e2129; stroke: #565c69 }
    .frame { stroke: #9aa1ad }
    .box { fill: #2b303b; stroke: #9aa1ad }
    .ours { fill: #21405f; stroke: #8db4dc }
    .disk { fill: #463d24; stroke: #cdb67a }
    .line { stroke: #cbd0d8 } .arrow { fill: #cbd0d8 }
    text { fill: #eceef2 } .on0, .on1 { fill: #ffffff } .on2, .on3 { fill: #111827 }
  }"""


class Picture:
    def __init__(self, name, width, height, title):
        self.name, self.parts = name, [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title>", f"<style>{STYLE}\n</style>",
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
            '<path class="arrow" d="M0 0 L10 5 L0 10 z"/></marker></defs>',
            f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>']

    def text(self, x, y, words, kind="", anchor="middle"):
        self.parts.append(f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>')

    def lines(self, x, y, rows, kind="", anchor="middle"):
        """Rows of text around the height y; the first is strong where there are several."""
        top = y - 9 * (len(rows) - 1) + 5
        for i, row in enumerate(rows):
            weight = "strong" if i == 0 and len(rows) > 1 else "small" if i else ""
            self.text(x, top + 18 * i, row, f"{weight} {kind}".strip(), anchor)

    def box(self, x, y, width, height, rows=(), kind="box", ink=""):
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>')
        self.lines(x + width / 2, y + height / 2, [rows] if isinstance(rows, str) else rows, ink)

    def frame(self, x, y, width, height, words):
        self.parts.append(f'<rect class="frame" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>')
        self.text(x + 12, y + 20, words, "strong", "start")

    def arrow(self, *points, label="", at=None, dotted=False, anchor="middle"):
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path class="line{" dotted" if dotted else ""}" d="{path}"/>')
        if label:
            (x1, y1), (x2, y2) = points[0], points[-1]
            x, y = at or ((x1 + x2) / 2, (y1 + y2) / 2 - 7)
            self.text(x, y, label, "small", anchor)

    def cell(self, x, y, width, height, rank):
        self.box(x, y, width, height, str(rank), f"rank{rank}", f"on{rank}")

    def done(self):
        return "\n".join(self.parts + ["</svg>", ""])


def walk():
    p = Picture("walk", 960, 560, "The walk of a byte: from the call through plan, node buffer and aggregator to storage")
    p.text(24, 32, "1. The call becomes a plan", "strong", "start")
    steps = ((("MPI_File_write_all", "the program"), "box"), (("api, mpi", "handles to values"), "ours"), (("file", "view, pointer, access"), "ours"),
             (("engine: enter", "all ranks agree"), "ours"), (("plan", "who does what, and why"), "ours"))
    for i, (rows, kind) in enumerate(steps):
        p.box(24 + 186 * i, 48, 168, 58, rows, kind)
        if i:
            p.arrow((6 + 186 * i, 77), (24 + 186 * i, 77))
    p.text(24, 146, "2. The plan moves the bytes", "strong", "start")
    p.frame(24, 162, 424, 250, "node 0")
    p.frame(512, 162, 424, 250, "node 1")
    for node, left in ((0, 24), (1, 512)):
        for i in range(2):
            rank = 2 * node + i
            p.box(left + 24 + 200 * i, 196, 176, 46, f"buffer of rank {rank}", f"rank{rank}", f"on{rank}")
            p.arrow((left + 112 + 200 * i, 242), (left + 112 + 200 * i, 286), label="one copy", at=(left + 120 + 200 * i, 268), anchor="start")
    p.box(48, 288, 376, 62, ("window of the aggregator (node buffer)", "shared memory, with a valid map"), "ours")
    p.box(536, 288, 376, 62, ("node buffer for the same window", "shared memory, kept by the leader"), "ours")
    p.arrow((536, 319), (424, 319), label="stream", at=(480, 311))
    p.text(480, 336, "or parcel", "small")
    p.arrow((236, 350), (236, 440), label="written while the next window is filled", at=(246, 431), anchor="start")
    p.box(48, 442, 376, 46, ("storage driver: one write for each run of bytes",), "ours")
    p.arrow((236, 488), (236, 512))
    p.box(48, 514, 864, 30, "file on the file system", "disk")
    p.text(536, 462, "Reading is the same way back: the aggregator reads a", "small", "start")
    p.text(536, 480, "window, node streams carry it, ranks copy what they need.", "small", "start")
    return p


def windows():
    p = Picture("windows", 960, 400, "Domains and windows of a collective write by four ranks and two aggregators")
    p.text(24, 32, "The file: blocks of ranks 0 to 3 in turn", "strong", "start")
    for i in range(32):
        p.cell(24 + 28.3 * i, 44, 28.3, 34, i % 4)
    for d in range(2):
        left = 24 + 456 * d
        p.arrow((left + 228, 82), (left + 228, 108))
        p.box(left, 110, 450, 34, f"domain {d}: owned by aggregator {d}", "ours")
        for w in range(4):
            x = left + 114 * w
            p.box(x, 164, 108, 34, f"window {w}", "box")
        p.text(left + 225, 224, "one window of each domain is one round", "small")
    p.text(24, 262, "Each aggregator has two windows in flight", "strong", "start")
    for i, (fill, write) in enumerate((("window 0", ""), ("window 1", "window 0"), ("window 2", "window 1"), ("window 3", "window 2"), ("", "window 3"))):
        x = 150 + 158 * i
        p.box(x, 280, 148, 34, f"filled: {fill}" if fill else "", "rank2" if fill else "box", "on2" if fill else "")
        p.box(x, 324, 148, 34, f"written: {write}" if write else "", "disk" if write else "box")
    p.text(24, 302, "ranks", "", "start")
    p.text(24, 346, "aggregator", "", "start")
    p.arrow((150, 380), (930, 380), label="time", at=(130, 384), anchor="end")
    return p


def agreement():
    p = Picture("agreement", 960, 400, "Agreement by nodes: ranks, first ranks, and the result published in each node")
    for node in range(3):
        left = 24 + 310 * node
        p.frame(left, 20, 292, 300, f"node {node}")
        for i in range(4):
            p.box(left + 14 + 67 * i, 52, 62, 34, f"rank {4 * node + i}")
            p.arrow((left + 45 + 67 * i, 86), (left + 45 + 67 * i, 118))
        p.box(left + 14, 120, 263, 44, ("shared memory", "one summary of each rank"), "ours")
        p.arrow((left + 146, 164), (left + 146, 196), label="adds them up", at=(left + 154, 184), anchor="start")
        p.box(left + 60, 198, 172, 40, f"first rank: {4 * node}", "rank1", "on1")
        p.arrow((left + 146, 238), (left + 146, 270), label="publishes the result", at=(left + 154, 258), anchor="start")
        p.box(left + 14, 272, 263, 34, "totals, groups, ranges", "ours")
    p.arrow((256, 210), (394, 210), dotted=True)
    p.arrow((394, 226), (256, 226), dotted=True)
    p.arrow((566, 210), (704, 210), dotted=True)
    p.arrow((704, 226), (566, 226), dotted=True)
    p.text(480, 350, "Messages go between first ranks only, so their number grows with the nodes and not with the ranks.")
    p.text(480, 374, "An access that repeats the one before needs a single small reduction.")
    return p


def clusters():
    p = Picture("clusters", 960, 430, "Two clusters: programs, routers on the gateways, mercutiod at the storage")
    p.frame(20, 20, 430, 330, "cluster here")
    p.frame(510, 20, 430, 330, "cluster there")
    p.box(44, 56, 150, 50, ("login node", "mercutio connect"))
    for i in range(3):
        p.box(44, 140 + 64 * i, 150, 50, (f"compute node {i}", "ranks of the program"), "ours")
        p.arrow((194, 165 + 64 * i), (272, 229 if i == 1 else 221 if i == 0 else 237))
    p.box(274, 196, 152, 66, ("gateway", "mercutio route"), "ours")
    p.box(534, 196, 152, 66, ("gateway", "mercutio route"), "ours")
    p.arrow((426, 229), (534, 229), label="TLS 1.3", at=(480, 220))
    p.box(766, 196, 152, 66, ("server node", "mercutiod"), "ours")
    p.arrow((686, 229), (766, 229))
    p.box(766, 296, 152, 36, "file system", "disk")
    p.arrow((842, 262), (842, 296))
    p.arrow((194, 81), (842, 81), (842, 196), label="ssh: starts mercutiod, hands over the key", at=(322, 72), dotted=True)
    p.text(480, 382, "Routers are needed only where compute nodes have no route. They cannot read what they carry:")
    p.text(480, 406, "encryption is between each rank and mercutiod.")
    return p


def main():
    drawn = (walk(), windows(), agreement(), clusters())
    return write_or_check({FOLDER / f"{picture.name}.svg": picture.done() for picture in drawn}, "scripts/pictures.py")


if __name__ == "__main__":
    sys.exit(main())
