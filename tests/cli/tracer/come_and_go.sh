# 600 threads, 40 at a time: a block that one leaves serves the next, and nothing is lost. 300 at the
# same time are more than there is room for: what is lost is counted.
. "$ROOT/tests/cli/tracer/common.bash"
for how in threads_come_and_go:12000 a_crowd:6000; do
    EMU_CLOCK=real traced out "$STRESS" ${how%:*} || fail "$how: status $?"
    check out/*
    deps=$(closing out/*.jsonl deps) dropped=$(closing out/*.jsonl dropped)
    ((deps + dropped == ${how#*:})) || fail "$how: $deps recorded and $dropped dropped"
    [[ $(grep -c '"type":"dep"' out/*.jsonl) == "$deps" ]] || fail "$how: not the lines of the summary"
    case $how in
    a_crowd*) ((dropped > 0 && deps >= 5000)) || fail "$how: $dropped dropped" ;;
    *) ((dropped == 0)) || fail "$how: $dropped dropped" ;;
    esac
    rm -r out
done
