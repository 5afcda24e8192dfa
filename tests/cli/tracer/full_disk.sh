# A full disk: the program's output and status are its own, the file keeps whole lines, and what was
# lost is counted.
. "$ROOT/tests/cli/tracer/common.bash"
mkdir small
mount -t tmpfs -o size=128k tmpfs small 2>/dev/null || { echo "no right to mount a small file system"; exit 77; }
trap 'umount small' EXIT
traced small/out "$CALLS" many 2>err
echo "status $?"
sed 's/ .small.*rank0/ FILE/' err
check small/out/*
tail -n 1 small/out/* | grep -q '"event":"shutdown"' || fail "no shutdown record"
total=$(tail -n 1 small/out/* | sed 's/.*"total_ops":\([0-9]*\),"dropped":\([0-9]*\).*/\1 \2/')
[[ $(grep -c '^{"id"' small/out/*) == "${total% *}" ]] || fail "total_ops is not what is there: $total"
lines=$(grep -c -e '^{"id"' -e '^{"type"' small/out/*)
[[ $((lines + ${total#* })) == 3031 ]] || fail "$lines records in the file, and lost: ${total#* }"
