# A full disk: the program's output and status are its own, the file keeps whole lines, and what was
# lost is counted.
. "$ROOT/tests/cli/tracer/common.bash"
small_disk 128k
traced small/out "$CALLS" many 2>err
echo "status $?"
sed 's/ .small.*rank0/ FILE/' err
check small/out/*
tail -n 1 small/out/* | grep -q '"event":"shutdown"' || fail "no shutdown record"
balance small/out/* | cut -d' ' -f1
