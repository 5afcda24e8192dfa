# SPDX-License-Identifier: MIT
# The taken way is what the result says, NCCL's least estimate takes it, each jump is one byte wide.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
on="--op all_reduce --ranks 16 --gpu h100_sxm --network dgx_h100_400g --json"
# shellcheck disable=SC2086  # several words
{
    "$SPECTER" predict collective --bytes 4M --explain $on >one
    "$SPECTER" predict collective --bytes 1K:4M --factor 64 --explain $on >many
}
cat >check.py <<'END'
import json, subprocess, sys
one, many = json.load(open("one")), json.load(open("many"))
for doc in [one] + many:
    on = [c for c in doc["candidates"] if "off" not in c]
    taken = [c for c in on if c["taken"]]
    assert len(taken) == 1 and taken[0]["nccl_takes"], taken
    for key in "algo", "proto", "channels", "time_us", "lat_us", "bw_GBps":
        assert taken[0][key] == doc[key], (key, taken[0], doc)
    assert taken[0]["nccl_us"] == min(c["nccl_us"] for c in on)
    assert all(c["time_us"] > c["lat_us"] > 0 and c["nccl_GBps"] > 0 for c in on)
assert len(one["jumps"]) >= 1
for jump in one["jumps"]:
    for bytes, way, us in ((jump["bytes"] - 1, "from_algo", "from_us"), (jump["bytes"], "algo", "time_us")):
        out = subprocess.run(sys.argv[1:] + ["--bytes", str(int(bytes))], capture_output=True, check=True)
        at = json.loads(out.stdout)
        assert at["algo"] == jump[way] and at["time_us"] == jump[us], (at, jump)
END
# shellcheck disable=SC2086
python3 check.py "$SPECTER" predict collective $on
