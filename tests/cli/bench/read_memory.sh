# SPDX-License-Identifier: MIT
# Operations that are taken as they are read take no memory that grows with the file: 20 MB and 200 MB
# are read within 2 MiB of each other.
[[ -x $BUILD/bench/bench_read && -x $BUILD/bench/grow ]] || { echo "no benchmark program"; exit 77; }
[[ $BUILD != */san* ]] || { echo "sanitizers keep memory of their own"; exit 77; }
{
    echo '{"event":"init","version":1,"run":"r","rank":0,"world_size":1,"mono_ns":5,"real_ns":6}'
    for ((i = 0; i < 100; i++)); do
        echo "{\"id\":$((i * 2)),\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":$((i * 9)).125,\"duration_us\":2.500,\"bytes\":8,\"comm\":\"w\",\"comm_rank\":0,\"comm_size\":1,\"seq\":$i,\"stream\":0,\"host_us\":$((i * 9)).000,\"timing\":\"device\"}"
        echo "{\"type\":\"untraced\",\"launches\":1,\"classes\":{\"reduction\":1},\"device\":0,\"stream\":0,\"tid\":0,\"host_us\":$((i * 9)).000,\"host_end_us\":$((i * 9 + 1)).000,\"max_gap_us\":0.000}"
        echo "{\"event\":\"clock\",\"device\":0,\"dev_us\":$((i * 9)).000,\"mono_ns\":$((i * 9000 + 5)),\"real_ns\":6,\"err_ns\":0}"
    done
    echo '{"event":"shutdown","time_us":900.000,"dropped":0}'
} >one.jsonl
for mb in 20 200; do
    "$BUILD/bench/grow" jsonl one.jsonl $mb.jsonl ${mb}000000
    read -r _ _ kib ops dur _ < <("$BUILD/bench/bench_read" specter $mb.jsonl)
    ((dur == ops * 2500 && ops > mb * 1000)) || echo "$mb MB: $ops operations of $dur ns"
    ((mb == 20)) && first=$kib
    rm $mb.jsonl
done
((kib - first < 2048 && first - kib < 2048)) || echo "$first KiB at 20 MB, $kib KiB at 200 MB"
((kib < 16384)) || echo "$kib KiB"
exit 0
