# SPDX-License-Identifier: MIT
# rank_file DIR RANK WORLD RUN HOST US: the first and the last line of a rank with 100 AllReduces over all ranks, in
# US microseconds together, and 50 among two neighbours in 5000; 40 GEMMs. 20 ms recorded.
rank_file() {
    local dir=$1 rank=$2 world=$3 run=$4 host=$5 us=$6 file=$1/specter_trace_rank$2.jsonl
    mkdir -p "$dir"
    row() { # COMM SIZE COUNT US
        printf '{"comm":"%s","size":%d,"op":"AllReduce","count":%d,"bytes":%d,"timed":%d,"timed_bytes":%d,"spans":%d,' \
            "$1" "$2" "$3" $(($3 * 1048576)) "$3" $(($3 * 1048576)) "$3"
        printf '"us":%d.000,"min_us":20.000,"max_us":%d.000,"from_us":100.000,"to_us":20000.000,"hist":[[14,%d],[17,10]]}' \
            "$4" 200 $(($3 - 10))
    }
    {
        printf '{"event":"init","version":1,"run":"%s","rank":%d,"world_size":%d,"pid":%d,"host":"%s","mono_ns":1,' \
            "$run" "$rank" "$world" $((100 + rank)) "$host"
        printf '"real_ns":%d,"coverage":["nccl","cublas"],"sample":1,"gpus":[],"env":{}}\n' "${REAL:-1700000000000000000}"
        printf '{"event":"comm","comm":"00000000000000aa","comm_rank":%d,"comm_size":%d}\n' "$rank" "$world"
        printf '{"event":"shutdown","time_us":30000.000,"total_ops":190,"dropped":0,"summary":{"nccl":{},"time":{'
        printf '"from_us":0.000,"to_us":20000.000,"devices":1,"collectives":{"count":150,"bytes":157286400,"timed":150,'
        printf '"us":%d.000},"messages":{"count":0,"bytes":0,"timed":0,"us":0.000},"gemms":{"count":40,"timed":40,' \
            $((us + 5000))
        printf '"us":6000.000},"copies":{"count":0,"bytes":0,"timed":0,"us":0.000},"graphs":{"count":0,"timed":0,"us":0.000}},'
        printf '"comms":[%s,%s],"unseen":[]}}\n' "$(row 00000000000000aa "$world" 100 "$us")" \
            "$(row "00000000000000b$((rank / 2))" 2 50 5000)"
    } >"$file"
}

# job DIR RUN: four ranks on two hosts, rank 2 the one that comes last.
job() {
    local times=(9000 8000 2000 8500)
    for rank in 0 1 2 3; do
        rank_file "$1" $rank 4 "$2" "node$((rank / 2))" "${times[rank]}"
    done
}
