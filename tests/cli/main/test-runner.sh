# The test runner tells passing from failing: a green suite must mean something.
mkdir -p tests/cli/a build
cp "$ROOT/tests/run.sh" tests/
case_of() { printf '%s\n' "$2" >"tests/cli/a/$1.sh"; }
case_of ok 'echo one; echo two 2'
printf 'one\nglob:two [0-9]\n' >tests/cli/a/ok.out
case_of more 'echo one; echo two; echo three'
printf 'glob:one\nglob:two\n' >tests/cli/a/more.out
case_of fewer 'echo one'
printf 'glob:one\nglob:two\n' >tests/cli/a/fewer.out
case_of other 'echo two'
printf 'one\n' >tests/cli/a/other.out
case_of status 'exit 3'
case_of wanted 'exit 3'
echo 3 >tests/cli/a/wanted.status
case_of late 'sleep 60'
case_of skipped 'echo "no such device"; exit 77'
case_of leaves 'set -m; sleep 300 & echo $! >"$TMPDIR/pid"'
: >tests/cli/a/empty.sh
printf '#!/bin/sh\necho "1..3"; echo "ok 1 - one"; echo "# x.c:1: one is not two"; echo "not ok 2 - two"
echo "ok 3 - three # SKIP no data"; exit 1\n' >build/unit-tests
chmod +x build/unit-tests
LIMIT=4 BUILD=build tests/run.sh
echo "status $?"
gone() { # PID: a process that is gone, or awaits burial, has no command line
    for i in {1..50}; do
        grep -q . "/proc/$1/cmdline" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "left running"
}
gone "$(cat build/test-runs/a/leaves/pid)"
printf '#!/bin/sh\necho "1..2"; echo "ok 1 - one"; kill -SEGV $$\n' >build/unit-tests
BUILD=build tests/run.sh --unit
echo "status $?"
BUILD=build tests/run.sh --cli a/ok
echo "status $?"
BUILD=build tests/run.sh --cli --update a/other a/status
cat tests/cli/a/other.out
BUILD=build tests/run.sh --cli no-such-test
echo "status $?"

# Ctrl-C and SIGTERM end a run at once, with the results there are, and leave no process behind, also none that
# made itself a session of its own; a test's own SIGINT is not ignored.
cat >tests/cli/a/forever.sh <<'END'
trap 'exit 3' INT
setsid sleep 300 &
echo $! >"$TMPDIR/pid"
kill -INT $$
END
echo 3 >tests/cli/a/forever.status
BUILD=build tests/run.sh --cli a/forever
cat >tests/cli/a/forever.sh <<'END'
setsid sleep 300 &
echo $! >"$TMPDIR/pid"
sleep 300
END
for signal in INT TERM; do
    BUILD=build env --default-signal=INT tests/run.sh --cli a/forever a/ok >stopped &
    run=$!
    for i in {1..100}; do
        [[ -s build/test-runs/a/ok/result && -s build/test-runs/a/forever/pid ]] && break
        sleep 0.1
    done
    left=$(cat build/test-runs/a/forever/pid)
    kill -$signal $run
    wait $run
    echo "status $?"
    cat stopped
    gone "$left"
    rm -rf build/test-runs
done
printf '#!/bin/sh\necho "1..2"; echo "ok 1 - one"; echo >begun; sleep 300\n' >build/unit-tests
rm -f begun
BUILD=build env --default-signal=INT tests/run.sh --unit >stopped &
for i in {1..100}; do
    [[ -s begun ]] && break
    sleep 0.1
done
kill -INT $!
wait $!
echo "status $?"
cat stopped
