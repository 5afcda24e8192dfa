# SPDX-License-Identifier: MIT
# Workbooks hold what the JSON does: every cell, in sheets of the documented names, with filters, frozen headings and
# colours in the right direction; what is hidden is; parts of time add up; text is no formula.
"$SPECTER" --version | grep -q 'libxlsxwriter -' && {
    echo "built without libxlsxwriter"
    exit 77
}
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import openpyxl' 2>/dev/null || { echo "no openpyxl for /usr/bin/python3"; exit 77; }
. "$ROOT"/tests/cli/scaling/common.bash
h100=$ROOT/tests/emu/fabric/h100.conf
{ cat "$h100"; echo 'intra_GBps = 296'; } >slow.conf
record() { # DIRECTORY CONF
    EMU_FABRIC=$2 LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$1" -- \
        "$ROOT"/examples/launch.sh -n 4 "$BUILD/examples/train" --tp 2 --iters 6 >/dev/null 2>log || cat log
}
record base "$h100"
record test slow.conf
export NCCL_MAX_CTAS="=1+1"
record again "$h100"
"$SPECTER" compare base test -o out --json out.json >/dev/null || exit
ls out
/usr/bin/python3 - <<'PY'
import json, math, openpyxl
doc = json.load(open("out.json"))["comparisons"][0]
book = openpyxl.load_workbook("out/final_analysis_report.xlsx")
print(*(s.title + ("" if s.sheet_state == "visible" else " (hidden)") for s in book), sep=", ")
cells = 0
def same(a, b):
    return a == b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12))
for title, key in {"Causes": "causes", "Step": "step", "NCCL_ImplSync_Cmp": "collectives", "NCCL_Long_Cmp": "rank_collectives",
                   "GEMMs": "gemms", "Kernels": "kernels", "Copies": "copies", "Idle": "idle",
                   "Messages": "messages", "Stragglers": "stragglers", "Critical": "critical"}.items():
    rows = list(book[title].iter_rows(values_only=True))
    if len(rows) - 1 != len(doc[key]):
        print(title, "has", len(rows) - 1, "rows, the JSON", len(doc[key]))
    for row, o in zip(rows[1:], doc[key]):
        for name, value in zip(rows[0], row):
            cells += 1
            if not same(value, o[name]):
                print(title, name, value, o[name])
print("cells:", "hundreds" if cells > 300 else cells)
for sheet in book:
    rows = list(sheet.iter_rows(values_only=True))
    if sheet.auto_filter.ref != sheet.dimensions or sheet.freeze_panes != "B2" or not all(c.font.b for c in sheet[1]):
        print(sheet.title, "without filter, frozen or bold headings")
    if any(c.data_type == "f" for row in sheet.iter_rows() for c in row):
        print(sheet.title, "holds a formula")
# Green is better: of a change less, of an improvement more; nothing where neither is.
for title, column, least in ("GPU_Summary_Cmp", "change", "FF63BE7B"), ("Summary_Dashboard", "improvement", "FFF8696B"), ("Step", "change", "FF63BE7B"):
    sheet = book[title]
    at = [c.value for c in sheet[1]].index(column)
    way = [c.value for c in sheet[1]].index("better")
    ruled = set()
    for ranges in sheet.conditional_formatting:
        for rule in ranges.rules:
            if rule.colorScale.color[0].rgb != least:
                print(title, "is coloured the wrong way")
        for area in ranges.sqref.ranges:
            ruled |= set(range(area.min_row, area.max_row + 1)) if area.min_col == at + 1 else set()
    if ruled != {r for r in range(2, sheet.max_row + 1) if sheet.cell(r, way + 1).value == "less"}:
        print(title, "colours rows", ruled)
for title in "GPU_Summary_Cmp", "GPU_ByRank_Cmp":
    rows = [dict(zip([c.value for c in book[title][1]], r)) for r in list(book[title].iter_rows(values_only=True))[1:]]
    for rank in {r.get("rank") for r in rows}:
        for side in "base_time_ms", "test_time_ms":
            ms = {r["type"]: r[side] for r in rows if r.get("rank") == rank}
            parts = ms["computation_time"] + ms["exposed_comm_time"] + ms["exposed_memcpy_time"] + ms["idle_time"]
            if not math.isclose(parts, ms["total_time"], rel_tol=1e-9) or not math.isclose(parts - ms["idle_time"], ms["busy_time"], rel_tol=1e-9):
                print(title, rank, side, "does not add up")
dash = {r[0]: r for r in book["Summary_Dashboard"].iter_rows(values_only=True)}
step = doc["step"][0]
if not same(dash["GPU_total_time"][1], step["base_us"] / 1e3) or dash["GPU_total_time"][4] != step["verdict"]:
    print("the dashboard's total is not the step's")
print(len(book["Summary_Dashboard"]._charts), "chart")
report = openpyxl.load_workbook("out/tracelens_analysis/comparison_report.xlsx")
if report.sheetnames != [s.title for s in book if s.sheet_state == "visible"]:
    print("comparison_report", report.sheetnames)
for sheet in report:
    if list(sheet.iter_rows(values_only=True)) != list(book[sheet.title].iter_rows(values_only=True)):
        print("comparison_report", sheet.title)
for name in "gpu_timeline_combined", "gpu_timeline_comparison", "collective_combined", "collective_comparison":
    print(name, *openpyxl.load_workbook("out/" + name + ".xlsx").sheetnames)
PY
# Several tests have a folder each; a setting that begins with = is text; a name with / is none of a folder.
"$SPECTER" compare base test again --name x/base,y/test,again --pairs --json pairs.json -o several >/dev/null && ls several
grep -c '"base":	"y/test"' pairs.json
/usr/bin/python3 - <<'PY'
import openpyxl
sheet = openpyxl.load_workbook("several/comparison_x_base_vs_again/final_analysis_report.xlsx")["Settings"]
print([(c.value, c.data_type) for c in sheet[2]])
PY
# A workbook that cannot be written leaves nothing under a final name.
"$SPECTER" compare base test -o /dev/full/x 2>&1 >/dev/null
echo "status $?"
(trap '' XFSZ; ulimit -f 4; "$SPECTER" compare base test -o full 2>&1 >/dev/null | sed "s/: [^:]*$/: .../")
ls full
