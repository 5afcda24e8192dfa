#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures the time that the Python module adds to a command: a Python that imports it and calls analyze(), less the
# command alone and less a Python that does nothing. Medians of 21 runs in turn. Called by `make bench-python`.
set -euo pipefail
cd "$(dirname "$0")/../.."
export SPECTER_PROGRAM=$PWD/${BUILD:-build}/specter PYTHONPATH=$PWD/packaging/python PYTHONDONTWRITEBYTECODE=
exec "$(type -P /usr/bin/python3 || type -P python3)" - tests/cli/replay/data/two_ranks <<'PY'
import json, os, statistics, subprocess, sys, time

traces = sys.argv[1]
ways = {
    "command": [os.environ["SPECTER_PROGRAM"], "analyze", traces, "--json", "-"],
    "python": [sys.executable, "-c", "pass"],
    "module": [sys.executable, "-c", f"import specter; specter.analyze({traces!r})"],
}
ms = {name: [] for name in ways}
for _ in range(21):
    for name, words in ways.items():
        start = time.perf_counter()
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        ms[name].append((time.perf_counter() - start) * 1e3)
median = {name: statistics.median(values) for name, values in ms.items()}
added = median["module"] - median["command"] - median["python"]
print(f"specter analyze --json   {median['command']:6.1f} ms")
print(f"python3 -c pass          {median['python']:6.1f} ms")
print(f"specter.analyze()        {median['module']:6.1f} ms, {added:.1f} ms more than both")
print(json.dumps({"bench": "python", "command_ms": round(median["command"], 2), "python_ms": round(median["python"], 2),
                  "module_ms": round(median["module"], 2), "added_ms": round(added, 2)}))
PY
