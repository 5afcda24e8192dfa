# The limit on file sizes raises SIGXFSZ, which must not end the program or wait for it.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" file_limit 2>err
echo "status $?"
sed "s/ '.*'/ FILE/" err
check out/*
[[ $(stat -c %s out/*) -le 20000 ]] || fail "over the limit"
tail -n 1 out/* | grep -q '"event":"shutdown"' || fail "no shutdown record"
head -n 1 out/* | grep -q '"event":"init"' || fail "no init record"
balance out/* | cut -d' ' -f1
