# Three ways to ask, one answer.
"$SPECTER" help >a
"$SPECTER" --help >b
"$SPECTER" -h >c
cmp a b && cmp a c
for command in $("$SPECTER" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    "$SPECTER" help "$command" >a
    "$SPECTER" "$command" --help >b
    "$SPECTER" "$command" -h >c
    cmp a b && cmp a c || exit 1
done
