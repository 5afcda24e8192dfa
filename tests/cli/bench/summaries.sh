# SPDX-License-Identifier: MIT
# `make bench-summaries` in small: what it writes is read, and its last line is its figures.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ -x $BUILD/bench/summaries ]] || { echo "no benchmark program"; exit 77; }
"$ROOT"/tests/bench/summaries.sh 128 >out || { cat out; exit 1; }
tail -1 out | python3 -c '
import json, sys
figures = json.load(sys.stdin)
assert figures["files"] == 128 and figures["rss_mib"] > 0 and figures.keys() == {"files", "seconds", "cpu_s", "rss_mib"}
'
