# SPDX-License-Identifier: MIT
# An id is what docs/sweep.md says, whatever else the grid holds, in which order, and wherever the
# recording lies; another recording or figure is another id.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/sweep/grid.bash
ids() {
    "$SPECTER" sweep "$@" 2>/dev/null | sed 1d | cut -d, -f1,10,11,22 | sort
}
ids grid.json >plain
cat >order.json <<'END'
{"scales": [16, 1, 4], "calibrate": true, "grow": "dp", "parallel": null,
 "networks": ["single_node_nvlink", null], "gpus": ["b200_sxm", null, "a100_sxm"]}
END
ids order.json | cmp - plain
mv traces elsewhere
ids grid.json elsewhere | cmp - plain
SPECTER_OUTPUT=elsewhere ids grid.json | cmp - plain

# by hand, from the trace's digest on
"$SPECTER" sweep grid.json elsewhere 2>/dev/null >rows.csv
python3 - <<'END'
import csv
PRIME, MASK = 0x100000001b3, (1 << 64) - 1
INVERSE = pow(PRIME, -1, 1 << 64)
def put(h, text):
    for c in text.encode():
        h = (h ^ c) * PRIME & MASK
    return h
def take(h, text):
    for c in reversed(text.encode()):
        h = h * INVERSE % (1 << 64) ^ c
    return h
rows = list(csv.DictReader(open("rows.csv", newline="")))
trace = take(int(rows[0]["id"], 16), "scale=1\n") # all but the scale, at all defaults
for i, row in enumerate(rows):
    h = trace
    gpu, network = [None, "a100_sxm", "b200_sxm"][i // 6], [None, "single_node_nvlink"][i // 3 % 2]
    h = put(h, f"gpu={gpu}\n") if gpu else h
    h = put(h, f"network={network}\n") if network else h
    assert f'{put(h, "scale=" + row["scale"] + chr(10)):016x}' == row["id"], row
END

# another duration, another file's figures
cp -r elsewhere changed
sed -i '0,/"duration_us":[0-9][0-9]*/s//&1/' changed/*rank0.jsonl
cmp -s changed/*rank0.jsonl elsewhere/*rank0.jsonl && echo "nothing was changed"
ids grid.json changed | cut -d, -f1 | grep -xFf <(cut -d, -f1 plain)
echo '{"gpu": {"name": "mine", "base": "a100_sxm"}}' >mine.json
echo '{"gpus": "./mine.json", "scales": 1}' >own.json
ids own.json elsewhere >first
ids own.json elsewhere | cmp - first
cp mine.json copy.json
sed 's/mine/copy/' own.json >copied.json
ids copied.json elsewhere | cut -d, -f1 | cmp - <(cut -d, -f1 first)
echo '{"gpu": {"name": "mine", "base": "a100_sxm", "mem_GBps": 1234}}' >mine.json
ids own.json elsewhere | cut -d, -f1 | cmp -s - <(cut -d, -f1 first) && echo "same id, other figures"
exit 0
