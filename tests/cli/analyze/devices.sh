# Processes that drive several GPUs: each is a rank, and collectives are matched across them, in one
# process whose rank nobody tells, in two of them, and where each GPU has a thread of its own.
. "$ROOT/tests/cli/analyze/devices.bash"
(
    unset RANK WORLD_SIZE LOCAL_RANK
    traced one "$STRESS" several_devices || fail "status $?"
)
devices two 2 2 thread
wait "${pids[@]}" || fail "status $?"
devices threads 2 2 threads
wait "${pids[@]}" || fail "status $?"
for dir in one two threads; do
    env -u LD_LIBRARY_PATH "$SPECTER" analyze --full $dir --json $dir.json >$dir.txt 2>$dir.err
    echo "$dir: status $?"
    cat $dir.err
    # of other tables nothing: they have ranks, too
    awk '/^\t"/ { on = /"(coverage|ranks|collectives|p2p)":/ }
        on && /"(rank|comm_size|records|incomplete_collectives|inconsistent_collectives|unmatched_ops)":/ {
        gsub(/[\t",]/, ""); print "  " $0 }' $dir.json
    grep 'several devices' $dir.txt
done
exit 0
