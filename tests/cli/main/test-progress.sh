# The progress of the tests: a line now and then where stderr is no terminal, and none on stdout.
. "$ROOT/tests/cli/main/test-progress.bash"
tests/run.sh --cli >said 2>progress &
seen 'check: 1 of 2 command-line tests done, 1 failed'
wait
head -n 1 progress
cat said
