# SPDX-License-Identifier: MIT
# Recordings whose timelines would make a page of more than 5 MB: it has their median steps, and says so; of steps that
# are still too large, some of the ranks, the same on both sides.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - <<'PY'
# 4 ranks, 10 steps of 3,500 GEMMs; step k of SIDE is k us longer, so that the median one is known.
import os, random
draw = random.Random(1)
sizes = [64 * draw.randint(1, 60) for _ in range(35000)]
for side, us in (("base", 9), ("test", 10)):
    os.mkdir(side)
    for rank in range(4):
        at, lines = 0.0, ['{"event":"init","version":1,"run":"%s","rank":%d,"world_size":4,"host":"h","mono_ns":1000,"real_ns":1000,'
                          '"coverage":["nccl","cublas","deps","launches"],"gpus":[]}' % (side, rank)]
        for i in range(35000):
            if i % 3500 == 0:
                at += i // 3500
                lines.append('{"event":"mark","name":"step","kind":"iteration","time_us":%.3f}' % at)
            lines.append('{"id":%d,"type":"cublas","op":"GemmEx","start_us":%.3f,"duration_us":%d,"m":%d,"n":64,"k":64,"batch":1,'
                         '"dtype":"fp16","stream":1,"device":0,"tid":0,"host_us":%.3f,"host_end_us":%.3f,"timing":"device"}'
                         % (i, at, us, sizes[i], at, at))
            at += us + 1
        lines += ['{"event":"mark","name":"step","kind":"iteration","time_us":%.3f}' % at,
                  '{"event":"shutdown","time_us":%.1f,"total_ops":35000,"dropped":0}' % at]
        open(f"{side}/specter_trace_rank{rank}.jsonl", "w").write("\n".join(lines) + "\n")
PY
look() {
    "$SPECTER" compare base test --table step --html page.html 2>&1 >/dev/null | grep -v wrote
    grep -o 'Above [^<]*' page.html
    [ "$(wc -c <page.html)" -lt 5000000 ] && echo "below 5 MB"
    python3 - <<'PY'
import json, re
data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', open("page.html").read(), re.S).group(1))
print([(row["side"], row["rank"], len(row["ops"]) // 3) for row in data["rows"]])
PY
}
look
"$SPECTER" compare base test --table causes --format csv
sed -i '/"mark"/d' base/*.jsonl test/*.jsonl
look
