# SPDX-License-Identifier: MIT
# Ctrl-C and kills in the middle: what is there is valid, and the same command goes on.
. "$ROOT"/tests/cli/sweep/grid.bash
many_jobs 3 >many.json
"$SPECTER" sweep many.json >whole.csv 2>/dev/null
cut=0
for signal in INT TERM KILL KILL KILL; do
    rm -f table.csv
    "$SPECTER" sweep many.json -o table.csv --threads 2 2>said &
    pid=$!
    # as soon as some rows are there
    until [[ -e table.csv && $(wc -l <table.csv) -gt 20 ]]; do sleep 0.01; done
    kill -$signal $pid
    wait $pid
    status=$?
    # SIGKILL may cut the last line, which has no newline then
    head -n "$(wc -l <table.csv)" table.csv | grep -vxFf whole.csv >strange
    [[ ! -s strange ]] || echo "strange rows after $signal"
    [[ $signal != INT || -z $(tail -c 1 table.csv) ]] || echo "a row was cut by $signal"
    if [[ $(wc -l <table.csv) -lt $(wc -l <whole.csv) ]]; then
        cut=$((cut + 1))
        case $signal in
        INT) [[ $status == 130 ]] && grep -q 'interrupted, .* points are missing; the same command goes on' said ;;
        TERM) [[ $status == 143 ]] ;;
        KILL) [[ $status == 137 ]] ;;
        esac || echo "$signal: status $status, $(cat said)"
    fi
    "$SPECTER" sweep many.json -o table.csv 2>/dev/null
    cmp table.csv whole.csv
done
[[ $cut -gt 0 ]] || echo "no run was cut short"
