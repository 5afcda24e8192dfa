# SPDX-License-Identifier: MIT
# Every way to do a product, what each is made of; on a GPU whose figures can be worked out by hand.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >toy.json <<'END'
{"gpu": {"name": "toy", "arch": "toy", "fp16_tflops": 100, "fp8_tflops": 200, "mem_GBps": 1000,
         "l2_MB": 10, "sms": 10, "boost_MHz": 1000, "launch_us": 5,
         "gemm": {"mma_share": 0.5, "mem_share": 0.5, "sm_GBps": 400, "l2_share": 1,
                  "start_kcycles": 1, "tile_kcycles": 1, "step_kcycles": 0.01,
                  "split_kcycles": 2, "quant_us": 4}}}
END
on="predict gemm --gpu toy.json --explain"
# shellcheck disable=SC2086  # several words
{
    "$SPECTER" $on -m 256 -n 512 -k 65536 | sed '/^assumes/,$d'
    "$SPECTER" $on -m 9223372036854775807 -n 9223372036854775807 -k 9223372036854775807 --batch 9 |
        grep -E '^ways|1e|e[+]' | awk 'length > 110'
    "$SPECTER" $on -m 64 -n 64 -k 512 --dtype fp8 --quantize dynamic --json >one
}
python3 - <<'END'
import json
doc = json.load(open("one"))
ways = doc["candidates"]
taken = [c for c in ways if c["taken"]]
assert len(ways) == 17 * 9 and len(taken) == 1
for key in "tile_m", "tile_n", "split_k", "waves", "busy_us":
    assert taken[0][key] == doc[key], (key, taken[0], doc)
for c in ways:
    both = sorted((c["work_us"], doc["traffic_us"]))
    busy = doc["start_us"] + doc["quant_us"] + both[1] + 0.3 * both[0] + c["split_us"]
    assert abs(busy - c["busy_us"]) < 1e-9 * busy and c["busy_us"] >= doc["busy_us"], (busy, c)
END
