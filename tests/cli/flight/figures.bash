# figures FOLDER: the sentences of analyze, its table of collectives and messages, and what the
# reader has to tell: sourced, not run.
figures() {
    local table
    "$SPECTER" analyze --full "$1" >out.txt 2>err.txt
    echo "status $?"
    sed -n '4,/^   Note\|^$/p' out.txt | grep -v 'Note\|^$'
    for table in collectives p2p; do
        "$SPECTER" analyze --full "$1" --format csv --table $table 2>/dev/null >table.csv
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                 { print $at["op"], "S " $at["bytes"], "median " $at["median_us"],
                   "algbw " $at["algbw_GBps"], "busbw " $at["busbw_GBps"] }' table.csv
    done
    grep -v 'clock\|missing' err.txt || true
}
