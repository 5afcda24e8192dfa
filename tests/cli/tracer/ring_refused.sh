# Where the space cannot be had, one line, no file, and the program as if untraced.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_RING=2000 SPECTER_MAX_SIZE=1M traced small "$FLIGHT" steps 3 0
echo "status $?"
ls small
