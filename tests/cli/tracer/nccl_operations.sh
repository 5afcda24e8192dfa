# Rooted, configured and one-sided operations of four ranks: bytes by the convention, roots, places,
# numbers. Collectives pair up; one-sided operations take no number, and none from the messages.
. "$ROOT/tests/cli/tracer/common.bash"
unset RANK WORLD_SIZE LOCAL_RANK EMU_DIR
run() { traced "$1" "$ROOT/examples/launch.sh" -n 4 "$BUILD/tracer/nccl_calls" "$1" && check "$1"/*; }
keys=(op bytes count dtype redop comm_rank seq peer p2p_seq root inplace group timing)
for scenario in rooted configured one_sided; do
    run $scenario || exit 1
done
for rank in 0 1; do
    ops rooted/specter_trace_rank$rank.jsonl "${keys[@]}"
done
ops configured/specter_trace_rank0.jsonl "${keys[@]}"
ops one_sided/specter_trace_rank0.jsonl "${keys[@]}"
