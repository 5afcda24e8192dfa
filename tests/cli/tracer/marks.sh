# Marks of a program: names, kinds and threads; what was open when its thread or the program
# ended has no end. Marks alone make no trace, and what comes before the first traced call is not in it.
. "$ROOT/tests/cli/tracer/common.bash"
MARKS=$BUILD/tracer/marks
"$MARKS" marks || fail "marks without a tracer do harm"
traced only_marks "$MARKS" only_marks || exit 1
[[ ! -e only_marks ]] || fail "marks alone made a trace"

# name kind tid, "closed" or "open" for ranges, thread by thread: which thread's the writer finds first is
# chance; times are in order
marks() {
    grep '"event":"mark"' $1/*.jsonl | sed -E '
        s/.*"name":("([^"\\]|\\.)*"|null),"time_us":-?[0-9.]+,/\1 /
        s/"end_us":null/open/; s/"end_us":-?[0-9.]+/closed/; s/"kind"://; s/"tid":/tid /; s/[,}]/ /g; s/ +$//' |
        awk '{ match($0, / tid [0-9]+/); print substr($0, RSTART + 5, RLENGTH - 5) "\t" $0 }' | sort -s -n -k 1,1 | cut -f 2-
}
for scenario in marks deep threads; do
    echo "$scenario:"
    traced $scenario "$MARKS" $scenario || exit 1
    check $scenario/*
    marks $scenario
    grep -o '"dropped":[0-9]*' $scenario/*.jsonl
    grep -o '"marks":[0-9]*' $scenario/*.jsonl
done
for file in */*.jsonl; do # a range ends after it has begun
    awk 'match($0, /"end_us":-?[0-9.]+/) { end = substr($0, RSTART + 9, RLENGTH - 9)
        match($0, /"time_us":-?[0-9.]+/); if (end + 0 < substr($0, RSTART + 10, RLENGTH - 10) + 0) print }' $file
done

traced exits "$MARKS" exits || fail "exits: status $?"
check exits/*
