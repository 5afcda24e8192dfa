# SPDX-License-Identifier: MIT
# A step that is shorter on more GPUs has its cause beside it: with two GPUs a node NCCL's tuner stays with rings for
# too long, and chooses trees on 32 nodes.
mkdir traces
echo '{"network": {"name": "pairs", "base": "dgx_h100_400g", "gpus_per_node": 2, "nics_per_node": 2}}' >pairs.json
for file in "$ROOT"/tests/cli/replay/data/two_ranks/*.jsonl; do
    sed 's/"world_size":2/"world_size":32/; s/"comm_size":2/"comm_size":32/' "$file" >traces/"${file##*/}"
done
"$SPECTER" replay --full traces --network ./pairs.json --from-network ./pairs.json --scale 1,2,4 | sed -n '/^  GPUs  *iteration/,/^$/p; /^notes/,$p'

# Beside a product, and off the critical path, it slows that product down for a shorter time, as the recording shows
# that it does: alone the product takes 200 us. What that says of such a step has no error: an efficiency above
# 100 % is not told.
for file in traces/*.jsonl; do
    awk '
        function at(line, start, took, host) {
            sub(/"id":[0-9]*/, "\"id\":" id++, line)
            sub(/"start_us":[0-9.]*,"duration_us":[0-9.]*/, "\"start_us\":" start ".000,\"duration_us\":" took ".000", line)
            sub(/"host_us":[0-9.]*,"host_end_us":[0-9.]*/, "\"host_us\":" host ".000,\"host_end_us\":" host + 4 ".000", line)
            print line
        }
        /"GemmEx"/ { gemm = $0 }
        /"AllReduce"/ {
            t = 100 + 470 * k++
            sub(/"stream":0/, "\"stream\":1")
            at($0, t + 5, 240, t)
            at(gemm, t + 10, 250, t + 5)
            at(gemm, t + 260, 200, t + 10)
            printf "{\"type\":\"sync\",\"kind\":\"device\",\"device\":0,\"tid\":0,\"host_us\":%d,\"host_end_us\":%d}\n", t + 15, t + 462
        }
        /"event"/ { sub(/"time_us":2000/, "\"time_us\":4000"); print }' $file >beside && mv beside $file
done
"$SPECTER" replay --full traces --network ./pairs.json --from-network ./pairs.json --scale 1,2,4 2>/dev/null | sed -n '/^  GPUs  *iteration/,/^$/p; /^notes/,$p'
