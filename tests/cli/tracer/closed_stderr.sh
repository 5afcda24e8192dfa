# With stderr closed, trouble is silent; a program's own files are never written into.
. "$ROOT/tests/cli/tracer/common.bash"
touch file
traced file/impossible "$CALLS" collectives 2>&-
echo "status $?"
traced out "$CALLS" collectives >&- 2>&- <&-
echo "status $?"
check out/*
traced own "$CALLS" closes_everything 2>err
echo "status $?"
sed "s/ '.*'/ FILE/" err
cat own.txt
check own/*
