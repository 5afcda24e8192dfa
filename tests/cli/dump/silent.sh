# A process that is there but cannot answer is named, and its file taken as it is.
. "$ROOT/tests/cli/dump/common.bash"
export SPECTER_RING=50
start traces
kill -STOP $pid
dump --wait 0.3 traces
check "$made"/*
[[ $(grep -c '^{"id"' "$made"/*) -ge 50 ]] || fail "not what is there"
stop
