# Signals at any point of a hook: handlers that make traced calls, on the interrupted stack or their own,
# and handlers that jump away, whose hook never ends. What comes afterwards is recorded as ever.
# The library is always the plain one: a sanitizer does not survive the jumps.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER
for how in handler_calls handler_on_other_stack handler_jumps; do
    traced $how "$INSTANT" $how >calls || fail "$how: status $?"
    read -r calls signals <calls
    check $how/* || fail "$how: not a trace"
    [[ $(grep -c '"count":77,"dtype"' $how/*.jsonl) == 10 ]] || fail "$how: the last calls are not all there"
    tail -n 1 $how/*.jsonl | sed -n 's/.*"total_ops":\([0-9]*\),"dropped":\([0-9]*\).*/\1 \2/p' |
        awk -v how=$how -v calls=$calls -v signals=$signals '
            # A call that a handler makes within a hook is not recorded, one that was jumped out of may be.
            { least = how == "handler_jumps" ? calls - signals : calls
              most = how == "handler_jumps" ? calls : calls + signals
              if ($1 + $2 < least + 10 || $1 + $2 > most + 10)
                  print how ": " $1 " recorded and " $2 " dropped of " calls " calls, " signals " signals" }
            END { if (NR != 1) print how ": no end" }'
done
