# The progress of the tests: on a terminal one line that is rewritten, and taken away in the end.
script -qec true /dev/null >/dev/null 2>&1 </dev/null || { echo "no terminal can be made here"; exit 77; }
. "$ROOT/tests/cli/main/test-progress.bash"
TERM=xterm script -qfec 'tests/run.sh --cli >said' /dev/null </dev/null >progress &
seen 'check: 1 of 2 command-line tests done, 1 failed; running: a/waits'
wait
(($(tr -cd '\r' <progress | wc -c) > 2)) && echo rewritten
tail -c 4 progress | cat -v
echo
cat said
