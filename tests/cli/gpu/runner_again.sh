# The GPU suite in several calls: within a budget of seconds, continued, named, stopped by a signal.
. "$(dirname "$0")/runner.bash"
cat >checks/made.bash <<'SH'
CHECKS='
first    1 is it first
slow     1 does it take its time
large   30 does it fit
'
# The claim is there once the check is seen to run, so that a signal never comes before it.
ran() { claim "records lost" 0 0; echo "$1" >>"$OUT/ran"; }
check_first() { ran first; }
check_slow() { ran slow; [ -e "$OUT/quick" ] || sleep 100; }
check_large() { ran large; }
SH
echo "== a budget: one ends in time, one does not, one does not begin"
gpu_suite -t 15 | sed "s/after [0-9]* s/after N s/"
grep '^Written\|Not run' out/report.md
echo "== the next call runs those two"
touch out/quick
gpu_suite -t 60
grep '^Written\|Not run' out/report.md
echo "== and then there is nothing left"
gpu_suite -t 60
echo "== one that is named runs again"
gpu_suite first
tr '\n' ' ' <out/ran
echo
for signal in INT TERM; do
    echo "== all anew, without a budget; SIG$signal while the second runs"
    rm -f out/quick out/ran
    env --default-signal=INT "$ROOT/tests/gpu/run.sh" -o out >said 2>&1 &
    for _ in {1..200}; do grep -qs slow out/ran && break || sleep 0.1; done
    kill -$signal $!
    wait $!
    echo "status $?"
    sed "s|$PWD/||g" said
    grep '^Written\|Not run' out/report.md
    echo "$(left_alive) left alive"
done
