# Where no trace can be written the program runs as ever, and one line says so.
. "$ROOT/tests/cli/tracer/common.bash"
touch file
traced file/dir "$CALLS" collectives
echo "status $?"
ls
