# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Made traces for the claims of the GPU suite: a good one is changed in one thing, and the claim must fail.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1

# ask QUESTION...: what checks.py finds wrong, and its status.
ask() {
    local status=0
    echo "== $*"
    python3 "$ROOT/tests/gpu/checks.py" "$@" >said 2>&1 || status=$?
    grep 'FAILS$\|Error' said
    echo "status $status"
}

# change FOLDER NAME OLD NEW: a copy of the good trace of that folder in which each OLD in rank 1 is NEW, by sed.
change() {
    rm -rf "$2" && cp -r "$1" "$2"
    sed -i "s/$3/$4/" "$2/specter_trace_rank1.jsonl"
}

# good FOLDER: two ranks, each with two products, three collectives of one communicator, and the plugin's words.
good() {
    local rank
    mkdir "$1"
    for rank in 0 1; do
        cat >"$1/specter_trace_rank$rank.jsonl" <<JSON
{"event":"init","version":1,"rank":$rank,"world_size":2,"mono_ns":0,"real_ns":0}
{"event":"comm","time_us":1.0,"comm":"$1","comm_rank":$rank,"comm_size":2}
{"id":0,"type":"nccl","op":"AllReduce","start_us":1,"duration_us":9.9,"bytes":4,"count":1,"dtype":"fp32","redop":"sum","comm":"$1","seq":0,"timing":"device"}
{"id":1,"type":"nccl","op":"AllReduce","start_us":20,"duration_us":99.0,"bytes":4096,"count":1024,"dtype":"fp32","redop":"sum","comm":"$1","seq":1,"timing":"device"}
{"id":2,"type":"nccl","op":"Broadcast","start_us":130,"duration_us":9.9,"bytes":64,"count":16,"dtype":"fp32","root":0,"comm":"$1","seq":2,"timing":"device"}
{"type":"plugin","op":"AllReduce","comm":"$1","seq":0,"algo":"RING","proto":"LL","channels":2,"kernel_us":9.0}
{"type":"plugin","op":"AllReduce","comm":"$1","seq":1,"algo":"RING","proto":"SIMPLE","channels":2,"kernel_us":90.0}
{"type":"plugin","op":"Broadcast","comm":"$1","seq":2,"algo":"RING","proto":"LL","channels":1,"kernel_us":9.0}
{"id":3,"type":"cublas","op":"GemmEx","m":8,"n":8,"k":8,"start_us":null,"duration_us":null,"graph":0,"timing":"captured"}
{"id":4,"type":"cublas","op":"GemmEx","m":8,"n":8,"k":8,"start_us":null,"duration_us":null,"graph":0,"timing":"captured"}
{"id":5,"type":"graph","graph":0,"launch":0,"start_us":200,"duration_us":50.5,"timing":"device"}
{"event":"shutdown","time_us":500,"total_ops":6,"dropped":0,"summary":{"timing":{"device":4,"captured":2},"unseen":[]}}
JSON
    done
}
