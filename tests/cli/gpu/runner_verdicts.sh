# Every way in which a check of the GPU suite can end: its verdict, why, and that nothing of it stays.
. "$(dirname "$0")/runner.bash"
cat >checks/made.bash <<'SH'
GRACE=10
CHECKS='
good     1 is all well
claims   1 does a claim hold
silent   1 does it say what it verified
missing  1 is there what it takes
wrong    1 does it end well
crash    1 does it survive
hang     0 does it end
stray    1 does it leave anything behind
'
check_good() { claim "records lost" 0 0; }
check_claims() { claim "records lost" 3 0; true; }
check_silent() { echo "all is well"; }
check_missing() { echo "no such GPU here"; return 77; }
check_wrong() { echo "cannot read it"; return 3; }
check_crash() { equal "what it is" "a thing" "a thing"; python3 -c 'import os; os.kill(os.getpid(), 11)'; }
check_hang() {
    echo "waiting for ever"
    claim "records lost" 0 0
    setsid bash -c 'trap "" TERM; sleep 100 & while :; do wait; done' & # another session, and deaf
    sleep 100
}
check_stray() { claim "records lost" 0 0; setsid sleep 100 & }
SH
gpu_suite | sed '/left running/d; s/line [0-9]*: *[0-9]*/line N: PID/; s/after [0-9]* s/after N s/'
echo "$(left_alive) left alive"
echo "== hang.log"
sed 's/after [0-9]* s/after N s/' out/checks/hang.log | sort
grep '^Checks\|^Written\|FAILS\|Failed\*\*\|Skipped\*\*' out/report.md | sed 's/after [0-9]* s/after N s/'
