# Processes that drive several GPUs by one thread: a replay on the same hardware gives the recorded
# iteration within 1 %, because the thread keeps its order.
. "$ROOT/tests/cli/analyze/devices.bash"
for n in 1 2; do
    devices trace$n $n $((4 / n)) thread
    wait "${pids[@]}" || fail "status $?"
    env -u LD_LIBRARY_PATH "$SPECTER" replay --full trace$n --from-gpu h100_sxm --scale 1 >out.txt 2>err.txt || cat out.txt err.txt
    sed -n 's/^recording *//p' out.txt
    awk '$1 == "iteration" { gsub(/[(%)+-]/, ""); print $NF <= 1 ? "within 1 %" : $0 }' out.txt
    grep -A1 'GPUs are driven' out.txt
done
