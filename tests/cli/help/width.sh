# Every help text fits 80 columns and has its golden file here.
bad=0
"$SPECTER" help >list
for command in $(sed -n '/^a run/q; s/^  \([a-z]\+\) .*/\1/p' list); do
    "$SPECTER" help "$command" >"$command"
    [[ -e $ROOT/tests/cli/help/$command.out ]] || { echo "no tests/cli/help/$command.out"; bad=1; }
done
awk 'length($0) > 80 { print FILENAME ": " $0; bad = 1 } END { exit bad }' * || bad=1
exit $bad
