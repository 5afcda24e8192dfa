# Functions of the tests of clocks: sourced, not run.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }

# capture_16 DIR [OPTION...]: 16 ranks, two machines of eight.
capture_16() {
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$1" -- "$ROOT/examples/launch.sh" -n 16 \
        "$BUILD/examples/train" --tp 2 "${@:2}" >capture.out 2>&1 || { cat capture.out; exit 1; }
}

# on_clock FROM TO OFFSET_NS PPM STEP_NS KEEP: ranks 8 to 15 as a second machine would have written
# them, whose clock is OFFSET_NS ahead when the trace begins, runs faster by PPM, and is set STEP_NS
# ahead halfway; KEEP: a pattern of lines that are kept of those that are operations.
on_clock() {
    python3 - "$@" <<'PY' || exit 1
import glob, json, os, re, sys
source, target, offset, ppm, step, keep = sys.argv[1:7]
offset, rate, step, keep = int(offset), 1 + float(ppm) * 1e-6, int(step), re.compile(keep)
os.mkdir(target)
zero = 0
times = []
texts = {}
for path in glob.glob(source + "/*.jsonl"):
    texts[os.path.basename(path)] = [json.loads(line) for line in open(path)]
for lines in texts.values():
    zero = max(zero, lines[0]["mono_ns"])
    times += [lines[0]["mono_ns"] + l["start_us"] * 1e3 for l in lines
              if l.get("type") == "nccl" and l["start_us"] is not None]
half = (min(times) + max(times)) / 2
def ahead(t):
    return t + offset + (t - zero) * (rate - 1) + (step if t > half else 0)
def moved(lines):
    base = lines[0]["mono_ns"]
    new = round(ahead(base))
    for line in lines:
        start, length = line.get("start_us"), line.get("duration_us")
        if start is not None and length is not None:
            to = ahead(base + (start + length) * 1e3)
            line["duration_us"] = round((to - ahead(base + start * 1e3)) / 1e3, 3)
        for key, value in line.items():
            if key == "mono_ns":
                line[key] = round(ahead(value))
            elif key in ("start_us", "host_us", "host_end_us", "time_us", "end_us", "dev_us") and value is not None:
                line[key] = round((ahead(base + value * 1e3) - new) / 1e3, 3)
        if "host" in line:
            line["host"] = "other"
for name, lines in texts.items():
    lines = [l for l in lines if l.get("type") != "nccl" or keep.search(json.dumps(l))]
    if lines[0]["rank"] >= 8:
        moved(lines)
    with open(os.path.join(target, name), "w") as out:
        for line in lines:
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
PY
}

# make_late FROM TO RANK US: in its large collectives that rank starts so much later. A line without a
# duration was written of a call that had not ended yet; the same call's later line takes its place.
make_late() {
    python3 - "$@" <<'PY' || exit 1
import json, os, shutil, sys
source, target, rank, late = sys.argv[1:5]
shutil.copytree(source, target)
path = os.path.join(target, "specter_trace_rank%s.jsonl" % rank)
lines = [json.loads(line) for line in open(path)]
for line in lines:
    large = line.get("type") == "nccl" and line["bytes"] >= 1 << 24 and line["comm_size"] > 2
    if large and line["duration_us"] is not None:
        line["start_us"] = round(line["start_us"] + float(late), 3)
        line["duration_us"] = round(line["duration_us"] - float(late), 3)
with open(path, "w") as out:
    for line in lines:
        out.write(json.dumps(line, separators=(",", ":")) + "\n")
PY
}
