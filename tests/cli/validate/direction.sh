# SPDX-License-Identifier: MIT
# Messages say how they go: scored by direction, and held against the model of it.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
ask() {
    "$SPECTER" predict p2p --bytes 64M --direction "$@" --gpu h100_sxm --network dgx_h100_400g --json | sed -n 's/.*"time_us":[^0-9]*\([0-9.]*\).*/\1/p'
}
{
    echo test,direction,bytes,ranks,nodes,gpus_per_node,time_us,gpu_profile,network_profile
    while read -r direction ranks nodes options; do
        echo "send,$direction,67108864,$ranks,$nodes,$((ranks / nodes)),$(ask "$direction" $options),h100_sxm,dgx_h100_400g"
    done <<'END'
one_way 2 1
one_way 2 2 --across
both 2 1
both 2 2 --across
all 8 1
all 16 2 --across
END
    echo "send,,67108864,2,1,2,300,h100_sxm,dgx_h100_400g"
    echo "send,sideways,67108864,2,1,2,300,h100_sxm,dgx_h100_400g"
    echo "send,both,67108864,4,1,4,300,h100_sxm,dgx_h100_400g"
} >messages.csv
"$SPECTER" validate messages.csv --json result.json >/dev/null 2>&1
echo "status $?"
python3 - <<'PY'
import json
doc = json.load(open("result.json"))
print([(g["key"], g["n"], abs(g["mean_ape"]) < 1e-6) for g in doc["groups"] if g["by"] == "direction"])
print([(s["reason"], s["damaged"]) for s in doc["skipped_reasons"]])
PY
