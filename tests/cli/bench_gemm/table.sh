# SPDX-License-Identifier: MIT
# `bench gemm` on the stand-ins: the table's times are those that the stand-in walks its tiles with, to half a
# thousandth; validate reads every row; any part of the plan has all types and families.
[[ -d $BUILD/emu/lib ]] || { echo "no stand-in libraries"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
gemm() { "$SPECTER" bench gemm "$@"; }
gemm --list >plan
gemm --list | cmp - plan
for part in 200 400 1000; do
    head -n $part plan | awk '{ types[$1]; families[$2]; heat[$3] } END { print length(types), length(families), length(heat) }'
done
sort plan | uniq -d

cat >fabric.conf <<'END'
gpu_name = NVIDIA H200
memory_GBps = 4800
memory_efficiency = 0.9
gemm_efficiency = 0.8
gemm_overhead_ns = 1500
graph_node_ns = 0
gpu_jitter = 0
sm_clock_MHz = 1755
power_W = 700
END
mkdir -p job
export EMU_DIR=$PWD/job EMU_FABRIC=$PWD/fabric.conf LD_LIBRARY_PATH=$BUILD/emu/lib
gemm --budget 3 -o gemm.csv --json gemm.json >text 2>talk
echo "status $?"
cat talk
awk 'length > 80 { print "too long: " $0 }' text
awk 'END { print(NR <= 14 ? "at most 14 lines" : NR " lines") }' text
awk 'NR == 1 { print $1, $2 } / of peak/ { print }' text
python3 -c '
import csv, json
doc = json.load(open("gemm.json"))
table = [r for r in csv.reader(open("gemm.csv")) if not r[0].startswith("#")]
print(doc["schema"], doc["kind"], doc["complete"], doc["gpu"], doc["gpu_profile"], len(doc["rows"]) == len(table) - 1)
peaks = {"bf16": 989.4, "fp16": 989.4, "tf32": 494.7, "fp32": 66.9, "fp64": 66.9, "fp8e4m3": 1979, "int8": 1979}
for row, line in zip(doc["rows"], table[1:]):
    assert abs(row["time_us"] - float(line[8])) <= 0.0006, (row, line)
    assert abs(row["peak_tflops"] / peaks[row["dtype"]] - 1) < 0.002, row
    assert abs(row["share_of_peak"] * row["peak_tflops"] - row["tflops"]) < 1e-6 * row["tflops"], row
    assert row["far"] == (not row["low_us"] <= row["time_us"] <= row["high_us"]), row
assert sum(t["slower"] + t["faster"] for t in doc["types"]) == sum(row["far"] for row in doc["rows"])
'
sed -n 's/, 20[0-9-]*:/, DATE:/; 1,4p' gemm.csv
grep -vc '^#' gemm.csv | awk '{ print ($1 > 50 ? "more than 50" : $1) " lines" }'
awk -F, '
    function up(x) { return x == int(x) ? x : int(x) + 1 }
    function max(a, b) { return a > b ? a : b }
    function best(m, n, k, batch, peak,    i, t, least) { # in ns: whole rounds of tiles over 132 SMs
        for (i = 1; i <= 5; i++) {
            t = up(up(m / rows[i]) * up(n / cols[i]) * batch / 132) * 2 * rows[i] * cols[i] * up(k / 32) * 32
            t /= peak * 1e3 / 132 * 0.8 * share[i]
            if (i == 1 || t < least) least = t
        }
        return least
    }
    BEGIN {
        split("256 128 128 64 64", rows, " "); split("128 128 64 64 32", cols, " ")
        split("1 0.94 0.82 0.66 0.45", share, " ")
        peak["bf16"] = peak["fp16"] = 989.4; peak["tf32"] = 494.7; peak["fp32"] = peak["fp64"] = 66.9
        peak["fp8e4m3"] = peak["int8"] = 1979
        size["bf16"] = size["fp16"] = 2; size["tf32"] = size["fp32"] = 4; size["fp64"] = 8
        size["fp8e4m3"] = size["int8"] = 1
        out["fp8e4m3"] = 2; out["int8"] = 4
    }
    /^#/ || $1 == "source_id" { next }
    {
        m = $4; n = $5; k = $6; batch = $7; o = ($3 in out) ? out[$3] : size[$3]
        memory = (((m + n) * k) * size[$3] + m * n * o) * batch / (4800 * 0.9)
        # by columns, as the library counts
        us = (max(best(n, m, k, batch, peak[$3]), memory) + 1500) / 1e3
        off = $9 / us - 1
        if (off < 0) off = -off
        if (off > 0.0005 && shown++ < 5) print "off by", off, us, $0
        rate = 2 * m * n * k * batch / $9 / 1e6
        if (rate / $10 > 1.001 + 0.01 / $10 || rate / $10 < 0.999 - 0.01 / $10) print "tflops", rate, $0
        if ($17 != 1755 || $19 < 110 || $19 > 700 || ($21 != "none" && $21 != "idle")) print "state", $0
    }' gemm.csv
"$SPECTER" validate gemm.csv --worst 0 --json v.json >/dev/null
echo "validate: status $?"
grep -c '"key":.*"h200_sxm"' v.json
grep '"skipped":' v.json

# A damaged row is no measurement.
sed -i '9s/hot\|cold/warm/; 10s/bf16\|fp16\|tf32\|fp32\|fp64\|int8\|fp8e4m3/fp7/; 11s/\(cold\|hot\),[0-9.]*,[0-9.]*/\1,-1,/' gemm.csv
"$SPECTER" validate gemm.csv --worst 0 --rows rows.csv >/dev/null
echo "validate: status $?"
cut -d, -f2-4 rows.csv | grep -e damaged -e skipped
