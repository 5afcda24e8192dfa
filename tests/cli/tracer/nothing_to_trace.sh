# A shell, a launcher, a program without traced calls: no file, no thread, nothing.
. "$ROOT/tests/cli/tracer/common.bash"
traced out sh -c 'true; ls >/dev/null; exit 3'
echo "status $?"
traced out "$CALLS" nothing
echo "status $?"
SPECTER_DISABLE=1 traced out "$CALLS" collectives
echo "status $?"
ls -A
