# Dumps that PyTorch wrote, pickled, of 16 ranks (Megatron with tensor, pipeline, expert and data
# groups): the first sentence names the ranks that were made to fail, and no others, and JSON the same.
sets=$SHARED/data/traces/flight_recorder
[[ -n $SHARED && -d $sets ]] || { echo "no ../shared data"; exit 77; }
for set in gpu_error_1st lock_gil_1st; do
    echo "-- $set: $(head -1 "$sets/$set/fault_injection.log")"
    "$SPECTER" analyze --full "$sets/$set" --json out.json >out.txt 2>err.txt
    echo "status $?"
    awk '/[Hh]ang: / { on = 1 } /^ *[2-9]\. |^$/ { on = 0 } on' out.txt
    grep -E '"(cause|waited_us|timed_out_us)":' out.json | tr -d '\t'
    tr -d ' \t\n' <out.json | grep -oE '"ranks":\[[0-9,]*\],"op"'
done
