# --iterations A:B records what the program does in these and nothing else; operations keep the numbers
# that they have in the whole run.
. "$ROOT/tests/cli/tracer/common.bash"
export SPECTER_LIB=$LIBSPECTER

# The numbers of the operations, the marks, and what the closing record counts.
show() {
    check $1/*
    echo "$1: ops" $(ops $1/*.jsonl seq | sed 's/seq //')
    echo "$1: marks" $(sed -n 's/.*"event":"mark","name":"\([^"]*\)".*"kind":"\([^"]*\)".*/\1 \2,/p' $1/*.jsonl)
    echo "$1: closing $(closing $1/*.jsonl total_ops) $(closing $1/*.jsonl dropped)"
}
capture() {
    "$SPECTER" capture -o "$@" 2>>err || fail "status $?"
}
capture whole -- "$BUILD/tracer/marks" iterations
capture called --iterations 2:3 -- "$BUILD/tracer/marks" iterations
capture rest --iterations 4: -- "$BUILD/tracer/marks" iterations
capture quiet --iterations 2:3 --no-marks -- "$BUILD/tracer/marks" iterations
capture ranges --iterations 2:3 --marker 'my step' -- "$BUILD/tracer/marks" steps
for run in whole called rest quiet ranges; do
    show $run
done
head -n 1 called/* | grep -o '"window":"[^"]*"'
"$SPECTER" analyze --full called 2>&1 >/dev/null | grep part
grep -v 'specter: 1 rank' err
exit 0
