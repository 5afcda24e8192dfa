# SPDX-License-Identifier: MIT
# messages.csv is what validate and calibrate take: each message with its direction, but for those over a slow link.
. "$ROOT/tests/cli/bench_collective/common.bash"
echo 'slow_link = 2>3 0.4' >fabric.conf
export EMU_FABRIC=$PWD/fabric.conf
"$SPECTER" bench p2p --gpus 4 --sizes 1K:64M --drift 0 --network dgx_h100_400g -o out >/dev/null || exit 1
head -1 out/*/messages.csv
grep -c doubtful out/*/messages.csv
"$SPECTER" validate out/*/messages.csv --full --json result.json | head -1
python3 -c '
import json
doc = json.load(open("result.json"))
print([(g["key"], g["n"]) for g in doc["groups"] if g["by"] in ("direction", "ranks")], [s["reason"] for s in doc["skipped_reasons"]])'
"$SPECTER" calibrate out/*/messages.csv --fix step_us,simple_us,sync_us,ll_GBps,copy_ratio,ramp_us --full -o profile.json 2>/dev/null | sed -n '1p; /link_share/p' | tr -s ' '
"$SPECTER" predict p2p --bytes 64M --gpu profile.json | grep algbw
