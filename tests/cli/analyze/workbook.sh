# SPDX-License-Identifier: MIT
# A workbook of each rank, and one of all collectives, at the documented places: every cell is the JSON's, or follows
# from the trace; parts of time add up; text is no formula. LibreOffice opens them, where it is there.
"$SPECTER" --version | grep -q 'libxlsxwriter -' && {
    echo "built without libxlsxwriter"
    exit 77
}
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import openpyxl' 2>/dev/null || { echo "no openpyxl for /usr/bin/python3"; exit 77; }
. "$ROOT"/tests/cli/scaling/common.bash
EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o traces -- \
    "$ROOT"/examples/launch.sh -n 4 "$BUILD/examples/train" --pp 2 --iters 6 >/dev/null 2>log || cat log
sed -i 's/"host":"[^"]*"/"host":"=1+1"/' traces/*.jsonl
"$SPECTER" analyze traces --xlsx out >/dev/null || exit
(cd out && find . -type f | sort)
"$SPECTER" analyze traces --json all.json >/dev/null
for rank in 0 1 2 3; do "$SPECTER" analyze traces --rank $rank --json rank$rank.json >/dev/null; done
/usr/bin/python3 - <<'PY'
import collections, glob, json, math, openpyxl
def same(a, b):
    return a == b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12))
def rows(sheet):
    lines = list(sheet.iter_rows(values_only=True))
    return [dict(zip(lines[0], line)) for line in lines[1:]]
def form(book, name):
    for sheet in book:
        if sheet.auto_filter.ref != sheet.dimensions or sheet.freeze_panes != "B2" or not all(c.font.b and c.fill.fgColor.rgb != "00000000" for c in sheet[1]):
            print(name, sheet.title, "without filter, frozen or formatted headings")
        if any(c.data_type == "f" for row in sheet.iter_rows() for c in row):
            print(name, sheet.title, "holds a formula")
        if any(c.number_format == "General" for row in sheet.iter_rows(min_row=2) for c in row if c.data_type == "n" and c.value is not None):
            print(name, sheet.title, "has numbers without a format")
        if any(not 10 <= sheet.column_dimensions[c.column_letter].width <= 62 for c in sheet[1]):
            print(name, sheet.title, "has columns without a width")
cells = 0
def compare(sheet, doc, name):
    global cells
    found = rows(sheet)
    if len(found) != len(doc):
        print(name, sheet.title, "has", len(found), "rows, the JSON", len(doc))
    for row, o in zip(found, doc):
        for key, value in row.items():
            cells += 1
            if not same(value, o[key]):
                print(name, sheet.title, key, value, o[key])
individual = {"ops_summary_by_category": "kernel_kinds", "ops_summary": "operations", "kernel_summary": "top",
              "short_kernel_histogram": "kernel_lengths", "GEMM": "gemms", "GEMM_roofline": "roofline",
              "operator_flops": "operator_flops", "memcpy": "copies", "idle": "idle", "launch": "launch", "steps": "steps"}
collective = {"nccl_summary_implicit_sync": "collectives", "nccl_summary_p2p": "p2p", "nccl_summary_all2allv": "alltoall",
              "nccl_pairs": "pairs", "straggler_summary": "stragglers", "nccl_implicit_sync": "collective_instances"}
top = "out/tracelens_analysis/"
for rank in range(4):
    book = openpyxl.load_workbook(top + f"individual_reports/rank{rank}_individual_report.xlsx")
    doc = json.load(open(f"rank{rank}.json"))
    if rank == 0:
        print(*book.sheetnames)
    form(book, rank)
    for title, key in individual.items():
        compare(book[title], doc[key], rank)
    of, = doc["ranks"]
    timeline = {r["type"]: r for r in rows(book["gpu_timeline"])}
    steps = doc["step_time"]["steps"]
    for ours, theirs in {"computation_time": "compute_us", "exposed_comm_time": "exposed_comm_us", "exposed_memcpy_time": "exposed_memory_us",
                         "idle_time": "idle_us", "total_time": "span_us", "total_comm_time": "comm_us", "total_memcpy_time": "memory_us"}.items():
        if not same(timeline[ours]["time_ms"], of[theirs] / steps / 1e3) or not same(timeline[ours]["recorded_ms"], of["recorded_" + theirs.replace("span_", "")] / 1e3):
            print(rank, ours, timeline[ours])
    for column in "time_ms", "recorded_ms", "percent", "recorded_percent":
        parts = sum(timeline[t][column] for t in ("computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time"))
        if not math.isclose(parts, timeline["total_time"][column], rel_tol=1e-9):
            print(rank, column, "does not add up")
    if len(book["gpu_timeline"]._charts) != 1:
        print(rank, "has no chart")
book = openpyxl.load_workbook(top + "collective_reports/collective_all_ranks.xlsx")
print(*book.sheetnames)
form(book, "collectives")
doc = json.load(open("all.json"))
print({r["host"] for r in rows(book["straggler_summary"])})
for title, key in collective.items():
    compare(book[title], doc[key], "collectives")
# One row an operation and rank; their sums are what the summary has.
traced = collections.Counter()
for rank in range(4):
    for line in open(f"traces/specter_trace_rank{rank}.jsonl"):
        o = json.loads(line)
        if o.get("type") == "nccl":
            traced[rank, o["op"], o["bytes"], o["dtype"]] += 1
long = collections.defaultdict(list)
for r in rows(book["nccl_long"]):
    long[r["rank"], r["op"], r["bytes"], r["dtype"]].append(r["duration_us"])
if {k: len(v) for k, v in long.items()} != dict(traced):
    print("nccl_long does not hold what was traced", long.keys() ^ traced.keys())
summary = collections.Counter()
for r in rows(book["nccl_summary_long"]):
    summary[r["rank"], r["op"], r["bytes"], r["dtype"]] += r["total_us"]
    if r["timed"] > 1 and not (r["min_us"] <= r["mean_us"] <= r["max_us"] and r["std_us"] >= 0):
        print("summary", r)
for key, durations in long.items():
    if not math.isclose(sum(durations), summary[key], rel_tol=1e-9):
        print(key, sum(durations), summary[key])
print("cells:", "thousands" if cells > 2000 else cells)
PY
# --rank writes one; what cannot be written leaves nothing under a final name.
"$SPECTER" analyze traces --rank 2 --xlsx one >/dev/null && ls one/*/*
"$SPECTER" analyze traces --xlsx /dev/full/x 2>&1 >/dev/null
echo "status $?"
(trap '' XFSZ; ulimit -f 4; "$SPECTER" analyze traces --xlsx full 2>&1 >/dev/null | sed 's/: [^:]*$/: .../')
find full -type f
