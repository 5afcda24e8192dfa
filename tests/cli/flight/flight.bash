# Makes Flight Recorder dumps as PyTorch's dump_json() does (keys in alphabetical order, times and
# "retired" as it has them): sourced, not run.
#
#     begin 2; call all_reduce 1048576 completed; call all_reduce 1048576 started; finish
#     begin 2 4; ...                  # of a world of four instead of eight ranks

. "$ROOT/tests/cli/flight/figures.bash"
mkdir -p dumps
T0=1748030000000000000 # of the first call, ns since 1970

begin() {
    rank=$1 world=${2:-8} entries= n=0 seq=0 p2p=0
    ranks=$(seq -s ', ' 0 $((world - 1)))
}

# add NAME ELEMENTS STATE SEQ P2P_SEQ IS_P2P [DURATION_MS]
add() {
    local at=$((T0 + n * 1000000 + rank * 1000)) started=0 completed=0 duration=
    [[ $3 != scheduled ]] && started=$((at + 200000))
    [[ $3 == completed ]] && completed=$((at + 500000))
    [[ -n ${7-} ]] && duration="\"duration_ms\":$7,"
    entries+="${entries:+,}{\"collective_seq_id\":$4,$duration\"input_dtypes\":[\"Float\"],"
    entries+="\"input_sizes\":[[$2]],\"is_p2p\":$6,\"op_id\":$((n + 1)),"
    entries+="\"output_dtypes\":[\"Float\"],\"output_sizes\":[[$2]],\"p2p_seq_id\":$5,\"pg_id\":0,"
    entries+="\"process_group\":[\"0\",\"default_pg\"],\"profiling_name\":\"nccl:$1\","
    entries+="\"record_id\":$n,\"retired\":false,\"state\":\"$3\",\"time_created_ns\":$at,"
    entries+="\"time_discovered_completed_ns\":$completed,"
    entries+="\"time_discovered_started_ns\":$started,\"timeout_ms\":600000}"
    n=$((n + 1))
}

# call NAME ELEMENTS STATE [DURATION_MS]: a collective
call() {
    seq=$((seq + 1))
    add "$1" "$2" "$3" "$seq" "$p2p" false "${4-}"
}

# message "send 0->1" ELEMENTS STATE
message() {
    p2p=$((p2p + 1))
    add "$1" "$2" "$3" "$seq" "$p2p" true
}

finish() {
    {
        printf '{'
        [[ -n $entries ]] && printf '"entries":[%s],' "$entries"
        printf '"pg_config":{"0":{"desc":"default_pg","name":"0","ranks":"[%s]"}},' "$ranks"
        printf '"pg_status":{"0":{"last_completed_collective":"1"}},"version":"2.10"}'
    } >"dumps/nccl_trace_rank_$rank"
}

# Prints what analyze says of the hang, and its notes.
hang() {
    "$SPECTER" analyze --full dumps --json out.json --fail-on 'hangs>0' >out.txt 2>err.txt
    echo "status $?"
    grep -qi 'hang: ' out.txt || cat out.txt
    awk '/"hangs":/ { on = 1 } /"coverage":/ { on = 0 } on && /"(cause|text|ranks)":/' out.json |
        sed -E 's/^[[:space:]]*//'
    grep -E 'Flight|finished|hangs' err.txt
}
