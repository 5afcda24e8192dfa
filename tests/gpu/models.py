# SPDX-License-Identifier: MIT
"""The models against this GPU.

    models.py gemm TABLE VALIDATE_JSON ROWS_CSV      the benchmark's table, as `specter validate` scored it
    models.py found STATE_CSV REPLAY_JSON SPECTER PROFILE_JSON
                                                     writes the GPU's profile with clock and power as found
    models.py as_found OWN_JSON NOMINAL_JSON FOUND_JSON
                                                     a step by the models, at nominal clocks and at those found

What is claimed of products holds for types that the models were fitted on (docs/accuracy.md): of a GPU that no
fit has seen a median error of 10 %, and 25 % or less for 90 of 100. All else is only told.
"""

import collections
import csv
import json
import statistics
import subprocess
import sys

from figures import Figures

MEDIAN_LIMIT, WITHIN_LIMIT, ROWS_LEAST = 0.10, 0.90, 100
FITTED_TYPES = ("bf16", "fp8e4m3")
FLOPS_CLASSES = ((1e9, "<1 GFLOP"), (1e10, "1-10 GFLOP"), (1e11, "10-100 GFLOP"), (float("inf"), ">=100 GFLOP"))
WORST = 8


def document(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


# ---- products ----


def table_rows(path):
    """Line number -> row of a table with notes in front of its header."""
    with open(path, encoding="utf-8") as text:
        lines = text.read().splitlines()
    head = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    rows = csv.DictReader(lines[head:])
    return {head + 2 + i: row for i, row in enumerate(rows)}


def scored_rows(table, scored):
    """Rows of the table that were scored, with their errors."""
    rows = table_rows(table)
    with open(scored, encoding="utf-8") as text:
        for line in csv.DictReader(text):
            if line["status"] == "scored":
                row = rows[int(line["line"])]
                yield {**row, "error": float(line["error"]), "predicted_us": float(line["predicted_us"])}


def flops_class(row):
    flops = 2 * float(row["m"]) * float(row["n"]) * float(row["k"]) * float(row["batch"])
    return next(name for limit, name in FLOPS_CLASSES if flops < limit)


def quantile(values, share):
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def stats(rows):
    """Rows, median and p90 of the errors without their sign, their median, share within 25 %."""
    errors = [row["error"] for row in rows]
    sizes = [abs(e) for e in errors]
    within = sum(size <= 0.25 for size in sizes) / len(sizes)
    return len(rows), statistics.median(sizes), quantile(sizes, 0.9), statistics.median(errors), within


def classes(figures, title, rows, *keys):
    """A table of errors by what the functions `keys` say of a row."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[" ".join(key(row) for key in keys)].append(row)
    table = figures.table(
        title, "class", "products", "median [share]", "p90 [share]", "bias [share]", "within 25 % [part]"
    )
    for name in sorted(groups):
        table.row(name, *stats(groups[name]))


def conditions(figures, rows):
    """Adds a table of the spread of times, and of the clock and power at which they were measured."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[f"{row['dtype']} {'held' if row['family'] == 'held' else 'short'}"].append(row)
    table = figures.table(
        "Clock and power while they ran", "products", "rows", "SM clock [MHz]", "power [W]", "spread of a time [share]"
    )
    for name in sorted(groups):
        of = groups[name]
        figures_of = [statistics.median(float(row[key]) for row in of) for key in ("sm_MHz", "power_W", "spread")]
        table.row(name, len(of), *figures_of)


def worst(figures, rows):
    table = figures.table(
        "Products that the model is farthest off", "product", "measured [us]", "predicted [us]", "error [share]"
    )
    for row in sorted(rows, key=lambda r: -abs(r["error"]))[:WORST]:
        name = f"{row['dtype']} {row['m']}x{row['n']}x{row['k']} x {row['batch']}, {row['family']}, {row['cache']}"
        table.row(name, float(row["time_us"]), row["predicted_us"], row["error"])


def gemm(table, validated, scored):
    figures = Figures()
    rows = list(scored_rows(table, scored))
    fitted = [row for row in rows if row["dtype"] in FITTED_TYPES]
    skipped = document(validated)["skipped"]
    if fitted:
        classes(figures, "GEMM times against the model, by type", rows, lambda r: r["dtype"])
        classes(figures, "By type and size", rows, lambda r: r["dtype"], flops_class)
        classes(figures, "By what they are, bf16 and fp8", fitted, lambda r: r["family"], lambda r: r["cache"])
        conditions(figures, rows)
        worst(figures, fitted)
    count, median, _, _, within = stats(fitted) if fitted else (0, None, None, None, None)
    figures.claim("products measured in bf16 and fp8", count, ROWS_LEAST, at_least=True)
    figures.claim("rows of the table that are no measurement", skipped, 0)
    figures.claim("median error of the GEMM model, bf16 and fp8", median, MEDIAN_LIMIT, "share")
    figures.claim("of them within 25 %", within, WITHIN_LIMIT, "part", at_least=True)
    figures.note("The table is no part of any fit. Types other than bf16 and fp8 are in no fit either, of any GPU.")
    figures.note(
        "Collectives are not held against this machine: ranks that share a GPU talk over sockets, which is no "
        "network that a model knows."
    )
    figures.close()


# ---- the state as found ----


def figure(sample, key):
    """-1 where NVML did not tell it."""
    return float(sample[key] or -1)


def loaded(samples):
    """Those under load: power in the upper half of what was seen."""
    watts = [figure(s, "power") for s in samples]
    middle = (min(watts) + max(watts)) / 2
    return [s for s, w in zip(samples, watts) if w >= middle]


def median_of(samples, key):
    return statistics.median(figure(s, key) for s in samples)


def base_figures(specter, name):
    text = subprocess.run([specter, "profiles", name, "--json"], capture_output=True, text=True, check=True).stdout
    known = json.loads(text)
    return known["gpus"][0] if "gpus" in known else known.get("gpu", known)


def state_table(figures, all_samples, under_load):
    table = figures.table("The GPU while it ran", "what", "median under load", "least", "most")
    for title, key in (
        ("SM clock, MHz", "clock_sm"),
        ("memory clock, MHz", "clock_memory"),
        ("power, W", "power"),
        ("temperature, C", "temperature"),
    ):
        values = [figure(s, key) for s in all_samples]
        table.row(title, median_of(under_load, key), min(values), max(values))
    reasons = collections.Counter(s["throttle_reasons"] for s in under_load)
    told = ", ".join(f"{name} in {count / len(under_load):.0%}" for name, count in reasons.most_common(4))
    figures.note(f"{len(under_load)} of {len(all_samples)} samples under load; what held the clock down: {told}")


def found(state, replayed, specter, out):
    """The profile of the recording's GPU with clock, power limit and memory clock as sampled."""
    base = document(replayed)["source"]["gpu"]
    with open(state, encoding="utf-8") as text:
        samples = [row for row in csv.DictReader(text) if row["gpu_id"] == "0" and figure(row, "clock_sm") > 0]
    if base is None:
        sys.exit("the recording's GPU is none that specter knows")
    if not samples:
        sys.exit(f"{state}: no sample of the GPU's state")
    under_load = loaded(samples)
    known = base_figures(specter, base)
    profile = {"name": f"{base}_as_found", "base": base, "clock_MHz": median_of(under_load, "clock_sm")}
    if median_of(samples, "power_limit") > 0:
        profile["tdp_W"] = median_of(samples, "power_limit")
    if 0 < median_of(under_load, "clock_memory") < median_of(samples, "clock_memory_max"):
        share = median_of(under_load, "clock_memory") / median_of(samples, "clock_memory_max")
        profile["mem_GBps"] = known["mem_GBps"] * share
    with open(out, "w", encoding="utf-8") as text:
        json.dump({"gpu": profile}, text, indent=1)
        text.write("\n")
    figures = Figures()
    state_table(figures, samples, under_load)
    figures.note(f"profile as found: {json.dumps(profile)}; {base} has boost_MHz {known['boost_MHz']}")
    figures.close()


def gemm_time(replayed):
    """(measured, on the target) of all products that have a time, in us."""
    for part in replayed["device_time"]:
        if part["rule"] == "gemms":
            return part["measured_us"], part["target_us"]
    return None, None


def as_found(own, nominal, at_found):
    figures = Figures()
    recorded = document(own)["source"]["recorded"]["iteration_us"]
    table = figures.table(
        "The step on its own GPU", "by", "step [us]", "error [share]", "products [us]", "their error [share]"
    )
    for name, path in (("measured times", own), ("the models, nominal", nominal), ("the models, as found", at_found)):
        replayed = document(path)
        step = replayed["scales"][0]["iteration_us"]
        measured, modelled = gemm_time(replayed)
        error = modelled / measured - 1 if measured else None
        table.row(name, step, step / recorded - 1, modelled, error)
        if path != own:
            figures.claim(f"step by {name}, against the recording", step / recorded - 1, unit="share")
            figures.claim(f"products by {name}, against the recording", error, unit="share")
    figures.note(f"recorded: {recorded:.1f} us a step. Work without a model keeps its measured time in every row.")
    figures.close()


COMMANDS = {"gemm": (gemm, 3), "found": (found, 4), "as_found": (as_found, 3)}

if __name__ == "__main__":
    run, arguments = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if run is None or len(sys.argv) != 2 + arguments:
        sys.exit(__doc__)
    run(*sys.argv[2:])
