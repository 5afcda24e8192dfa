# SPDX-License-Identifier: MIT
# Files that claim the same impossible rank are no launches of a job one after the other: they are read as one run,
# their ranks taken from the communicator.
mkdir traces
for rank in 0 1; do
    {
        printf '{"event":"init","version":1,"run":"a","rank":99999999999,"world_size":2,"real_ns":%d}\n' $((rank * 1000000000 + 1000))
        for seq in 0 1; do
            printf '{"id":%d,"type":"nccl","op":"AllReduce","start_us":%d.000,"duration_us":50.000,"bytes":4096,"dtype":"fp16","comm":"c","comm_rank":%d,"comm_size":2,"seq":%d,"device":0,"stream":7,"timing":"device"}\n' \
                $seq $((seq * 100)) $rank $seq
        done
    } >traces/specter_trace_rank$rank.jsonl
done
"$SPECTER" analyze traces 2>&1 | grep -e 'other run' -e impossible -e 'ranks, specter'
