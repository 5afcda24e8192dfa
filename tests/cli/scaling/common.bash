# Recordings of the five ways to train in parallel, on the stand-ins.
[[ -x $BUILD/examples/train ]] || { echo "no examples built: make emu"; exit 77; }
work=$PWD
. "$ROOT/scripts/recordings.bash"
ALL='dp tp pp fsdp ep'

# iteration TRACE OPTION...: of scale 1, us.
iteration() {
    replay "$1" "$work/flat" --scale 1 "${@:2}"
    get "$work/flat" scales.0.iteration_us
}

# verdicts: what of a table of replay-accuracy.sh does not change with the models.
verdicts() { awk -F ' *[|] *' -v n="$1" '/--- / { on = 1; next } on && NF > 1 { print $2 ", " $3 (n > 3 ? " " $4 : "") ": " (/ !/ ? $0 : "within") }'; }
