#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures the share of a core that `specter watch` takes while eight ranks write their traces: files that
# grow by so many lines a second and rank, of a capture on the stand-in libraries. Looks once a second, as by default;
# processor time of the whole process / time that it ran. Then the time from the last call of a job that
# hangs (the stand-ins', eight ranks) to the first look that names the blocked rank: the worst of five.
#
#   BUILD=build SECONDS_EACH=15 RATES="0 1000 5000" tests/bench/watch.sh
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SECONDS_EACH=${SECONDS_EACH:-15}
RATES=${RATES:-0 1000 5000}
command -v python3 >/dev/null || { echo "bench-watch needs python3, to write traces" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

LD_LIBRARY_PATH=$BUILD/emu/lib PATH=$BUILD:$BUILD/examples:$ROOT/examples:$PATH \
    specter capture -o "$work/capture" -- launch.sh -n 8 train --tp 2 --iters 40 >/dev/null 2>&1
for rank in {0..7}; do
    "$BUILD/bench/grow" jsonl "$work/capture/specter_trace_rank$rank.jsonl" \
        "$work/rank$rank.jsonl" 60000000
done
python3 - "$BUILD/specter" "$work" "$SECONDS_EACH" $RATES <<'END'
import json, os, re, resource, signal, subprocess, sys, time

specter, work, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
RANKS, TICKS, BEFORE = 8, 20, 5000
shares = {}

def lines(rank):
    """The trace again and again, as if of this process: its closing record never comes."""
    with open(f"{work}/rank{rank}.jsonl") as f:
        kept = [l for l in f if '"event":"shutdown"' not in l]
    kept[0] = re.sub(r'"pid":\d+', f'"pid":{os.getpid()}', kept[0])
    while True:
        yield from kept

def used():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime

print(f"{'lines/s, rank':>14} {'MB/s, all':>10} {'core':>7}")
for rate in map(int, sys.argv[4:]):
    folder = f"{work}/traces{rate}"
    os.mkdir(folder)
    sources = [lines(r) for r in range(RANKS)]
    files = [open(f"{folder}/specter_trace_rank{r}.jsonl", "w") for r in range(RANKS)]
    for f, source in zip(files, sources):
        f.writelines(next(source) for _ in range(BEFORE))
        f.flush()
    size = sum(os.path.getsize(f.name) for f in files)
    before, begun = used(), time.monotonic()
    watch = subprocess.Popen([specter, "watch", folder], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    while time.monotonic() - begun < seconds:
        time.sleep(1 / TICKS)
        for f, source in zip(files, sources):
            f.writelines(next(source) for _ in range(rate // TICKS))
            f.flush()
    if watch.poll() is not None:
        sys.exit("specter watch ended early")
    watch.send_signal(signal.SIGINT)
    if watch.wait() != 0:
        sys.exit("specter watch failed")
    took = time.monotonic() - begun
    grown = (sum(os.path.getsize(f.name) for f in files) - size) / took / 1e6
    shares[rate] = (used() - before) / took
    print(f"{rate:14} {grown:10.1f} {100 * shares[rate]:5.2f} %")
    for f in files:
        f.close()
        os.unlink(f.name)
with open(f"{work}/shares", "w") as f:
    json.dump(shares, f)
END

# Prints the age of the youngest of the calls that wait, as the first look that names rank 5 tells it.
hang() {
    export WORLD_SIZE=8 EMU_CLOCK=real SPECTER_RUN=hang SPECTER_EXAMPLE_ID=$1/id EMU_DIR=$1 SPECTER_OUTPUT=$1/traces
    local rank pids=()
    mkdir -p "$1/traces"
    for rank in {0..7}; do
        RANK=$rank LOCAL_RANK=$rank LD_PRELOAD=$BUILD/libspecter.so LD_LIBRARY_PATH=$BUILD/emu/lib \
            "$BUILD/tracer/hang" skip 2>/dev/null &
        pids+=($!)
    done
    timeout 60 "$BUILD/specter" watch "$1/traces" --json | python3 -c 'import json, sys
for line in sys.stdin:
    ranks = json.loads(line)["ranks"]
    if any(r["state"] == "BLOCKED" for r in ranks):
        print(min(r["age_us"] for r in ranks if r["state"] == "waits") / 1e6)
        break'
    kill -9 "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
}
worst=$(for i in 1 2 3 4 5; do hang "$work/hang$i"; done 2>/dev/null | sort -n | tail -n 1)
printf 'a hang is named %.1f s after the call, at most\n{"core_share_by_lines_per_s": %s, "hang_named_s": %s}\n' \
    "$worst" "$(cat "$work/shares")" "$worst"
