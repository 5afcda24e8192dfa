# Every setting of the table is in docs/trace-format.md with its default, and an option of capture.
"$SPECTER" help capture >help
sed -n 's/^SETTING([A-Z]*, [a-z_]*, "\([a-z-]*\)", [^,]*, "\([A-Z_]*\)", "\([^"]*\)".*/\1 \2 \3/p' \
    "$ROOT/tracer/settings.def" >table
[[ $(grep -c '^SETTING(' "$ROOT/tracer/settings.def") == $(grep -c . table) ]] || echo "a row was not understood"
while read -r option variable default; do
    grep -q -e "--$option " help || echo "--$option is not in the help"
    awk -v item="- \`${default:-none}\`:" '/^- |^$/ { inside = index($0, item) == 1 } inside' "$ROOT/docs/trace-format.md" |
        grep -q "\b$variable\b" || echo "$variable with default '${default:-none}' is not in docs/trace-format.md"
done <table
