# SPDX-License-Identifier: MIT
# Worse hardware never makes a step faster, and slower where the step depends on it: on two nodes
# every one of these patterns does.
. "$ROOT"/tests/cli/scaling/common.bash
gpu() { echo "{\"gpu\": {\"name\": \"$1\", \"base\": \"h100_sxm\", $2}}" >$1.json; }
net() { echo "{\"network\": {\"name\": \"$1\", \"base\": \"dgx_h100_400g\", $2}}" >$1.json; }
gpu slower_gpu '"bf16_tflops": 500, "fp16_tflops": 500'
gpu slower_memory '"mem_GBps": 1600'
net half_the_bandwidth '"intra_GBps": 225, "pair_GBps": 225, "nic_Gbps": 200'
net twice_the_latency '"intra_lat_us": 1.2, "inter_lat_us": 10'
net oversubscribed '"oversubscription": 4'
for name in $ALL; do
    capture h100 $name 16
    own=$(iteration $trace)
    for case in slower_gpu slower_memory half_the_bandwidth twice_the_latency oversubscribed; do
        [[ $case == slower_* ]] && option=--gpu || option=--network
        [[ $option == --gpu ]] && kept=(--network dgx_h100_400g) || kept=(--gpu h100_sxm)
        then=$(iteration $trace $option $case.json "${kept[@]}")
        awk -v a="$own" -v b="$then" 'BEGIN { exit !(b > 1.001 * a) }' || echo "$name: $case: $own us, then $then us"
    done
    [[ $name != fsdp ]] || continue # its optimizer has less to do on more ranks
    replay $trace flat --scale 1,2,4,8 --grow $(pattern $name 4)
    awk '/^scales.*iteration_us/ { if ($2 < last * 0.9999) print "fewer microseconds on more ranks:", last, $2
                                   first = first ? first : $2; last = $2 }
         END { if (last <= first) print "no slower on eight times the ranks:", first, last }' flat
done
