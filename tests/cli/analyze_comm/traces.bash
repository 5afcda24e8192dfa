# SPDX-License-Identifier: MIT
# Traces made by hand: `begin RANK RANKS GPU [HOST]`, then `op ...` for each operation, then `finish`.

# begin RANK RANKS GPU [HOST]: all that follows is of this rank, in a communicator of all.
begin() {
    ids=0 rank=$1 ranks=$2 out=traces/specter_trace_rank$1.jsonl
    mkdir -p traces
    {
        echo "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":$1,\"world_size\":$2,\"host\":\"${4:-node0}\",\"mono_ns\":0,\"real_ns\":1000,\"coverage\":[\"nccl\"],\"gpus\":[{\"device\":0,\"name\":\"$3\"}]}"
        echo "{\"event\":\"comm\",\"time_us\":0.0,\"comm\":\"c\",\"comm_rank\":$1,\"comm_size\":$2,\"device\":0}"
    } >"$out"
}

# op OP SEQ START END BYTES [MORE]: in us.
op() {
    echo "{\"id\":$((ids++)),\"type\":\"nccl\",\"op\":\"$1\",\"start_us\":$3,\"duration_us\":$(($4 - $3)),\"bytes\":$5,\"count\":$(($5 / 4)),\"dtype\":\"fp32\",\"comm\":\"c\",\"comm_rank\":$rank,\"comm_size\":$ranks,\"seq\":$2,\"device\":0,\"stream\":1,\"tid\":0,\"group\":-1,\"host_us\":$3,\"host_end_us\":$3,\"timing\":\"device\"${6:+,$6}}" >>"$out"
}

finish() {
    echo '{"event":"shutdown","time_us":100000.0,"total_ops":'$ids',"dropped":0}' >>"$out"
}
