# Three ways to ask, one answer.
"$SPECTER" help >a
"$SPECTER" --help >b
"$SPECTER" -h >c
cmp a b && cmp a c
n=0
for command in $("$SPECTER" help | sed -n '/^a run/q; s/^  \([a-z]\+\) .*/\1/p'); do
    "$SPECTER" help "$command" >a
    "$SPECTER" "$command" --help >b
    "$SPECTER" "$command" -h >c
    cmp a b && cmp a c || exit 1
    n=$((n + 1))
done
[[ $n -ge 17 ]] || echo "only $n commands"
for kind in 'predict gemm' 'bench p2p'; do
    # shellcheck disable=SC2086 # two words
    "$SPECTER" help $kind >a
    # shellcheck disable=SC2086
    "$SPECTER" $kind --help | cmp - a || exit 1
done
"$SPECTER" help predict nothing 2>/dev/null
[[ $? == 2 ]] || echo "help of a kind that is none"
exit 0
