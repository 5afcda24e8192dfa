# Every setting of the table is in docs/trace-format.md with its default, and an option of capture.
"$SPECTER" help capture >help
sed -n 's/^SETTING([A-Z]*, [a-z_]*, "\([a-z-]*\)", [^,]*, "\([A-Z_]*\)", "\([^"]*\)".*/\1 \2 \3/p' \
    "$ROOT/tracer/settings.def" >table
[[ $(grep -c '^SETTING(' "$ROOT/tracer/settings.def") == $(grep -c . table) ]] || echo "a row was not understood"
while read -r option variable default; do
    grep -q -e "--$option " help || echo "--$option is not in the help"
    grep -q "^| $variable |.*| ${default:-none}[^|]* |$" "$ROOT/docs/trace-format.md" ||
        echo "$variable with default '${default:-none}' is not in docs/trace-format.md"
done <table
