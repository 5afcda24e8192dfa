# SPDX-License-Identifier: MIT
"""Checks the results of `specter bench` on this GPU against what must be true.

    benches.py collective FILE RANKS       results are right, and every row is there
    benches.py drift FILE RANKS            clocks; ranks on one GPU have the same
    benches.py overlap FILE RANKS          GEMMs and collectives beside each other
"""

import json
import sys

from figures import Figures

PPM = 500  # a quartz is off by less
SAME_PPM = 1  # of one clock that is measured twice, beyond what both intervals leave open


def load(path, ranks, figures):
    with open(path, encoding="utf-8") as text:
        doc = json.load(text)
    figures.equal(f"{doc['kind']}: complete", doc["complete"], True)
    found = doc["runs"][0]["ranks"] if doc["kind"] == "collective" else doc["ranks"]
    figures.equal(f"{doc['kind']}: ranks", len(found) if isinstance(found, list) else found, int(ranks))
    return doc


def collective(path, ranks):
    figures = Figures()
    rows = load(path, ranks, figures)["runs"][0]["rows"]
    table = figures.table(f"Collectives, {ranks} rank(s)", "operation", "bytes", "time [us]", "variation [part]")
    for row in rows:
        if not row["in_place"]:
            table.row(row["op"], row["bytes"], row["time_us"], row["cv"])
    figures.claim("collective: rows", len(rows), 1, at_least=True)
    figures.claim("collective: wrong elements", sum(row["wrong"] for row in rows), 0)
    figures.close()


def drift(path, ranks):
    figures = Figures()
    clocks = [rank["gpu"] for rank in load(path, ranks, figures)["ranks"]]
    table = figures.table(f"The GPU's clock against its host's, {ranks} rank(s)", "rank", "ppm", "from", "to", "noise [us]")
    for rank, clock in enumerate(clocks):
        table.row(rank, clock["ppm"], clock["low_ppm"], clock["high_ppm"], clock["noise_us"])
        figures.claim(f"drift: rank {rank}", clock["ppm"], PPM, "ppm")
    if len(clocks) == 2:
        open_ppm = sum(clock["high_ppm"] - clock["low_ppm"] for clock in clocks)
        figures.claim("drift: one GPU by two ranks", clocks[1]["ppm"] - clocks[0]["ppm"], SAME_PPM + open_ppm, "ppm")
    figures.close()


def overlap(path, ranks):
    figures = Figures()
    doc = load(path, ranks, figures)
    columns = ("GEMM", "alone [us]", "slower", "collective [us]", "slower", "together")
    table = figures.table("GEMMs and collectives beside each other", "channels", *columns)
    for row in doc["rows"]:
        gemm, comm = row["gemm"], row["collective_time"]
        name = f"{row['m']}x{row['n']}x{row['k']}"
        table.row(row["channels"], name, gemm["alone_us"], gemm["slowdown"], comm["alone_us"], comm["slowdown"], row["together"])
    figures.claim("overlap: rows", len(doc["rows"]), 1, at_least=True)
    least = min((row["gemm"]["slowdown"] for row in doc["rows"]), default=None)
    figures.claim("overlap: GEMMs beside collectives, time over that alone", least, 0.9, at_least=True)
    figures.note("The ranks share one GPU: what they lose is not what ranks with GPUs of their own do.")
    for text in doc["notes"]:
        figures.note(text)
    figures.close()


if __name__ == "__main__":
    {"collective": collective, "drift": drift, "overlap": overlap}[sys.argv[1]](*sys.argv[2:])
