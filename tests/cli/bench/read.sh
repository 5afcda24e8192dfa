# SPDX-License-Identifier: MIT
# `make bench-read` in small: the readers find the same operations, and its last line is its figures.
[[ -x $BUILD/bench/bench_read ]] || { echo "no benchmark program"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
WORK=$PWD/work SIZE_MB=4 ROUNDS=1 "$ROOT"/tests/bench/read.sh >out || { cat out; exit 1; }
tail -1 out | python3 -c '
import json, sys
figures = json.load(sys.stdin)
for key in "jsonl_MBps cjson_MBps kineto_MBps kineto_rss_ratio python_json_MBps files1000_s".split():
    assert figures[key] > 0, key
'
[[ ! -e work ]] || echo "the inputs are left behind"
