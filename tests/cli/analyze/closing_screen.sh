# SPDX-License-Identifier: MIT
# The answer of the closing records: one screen of 80 columns, and its tables in every form.
. "$ROOT/tests/cli/analyze/closing.bash"
job traces slurm-7.0
"$SPECTER" analyze --summary >screen
cat screen
[[ $(wc -l <screen) -le 14 && $(wc -L <screen) -le 80 ]] || echo "too large"
echo "== narrow"
COLUMNS=60 "$SPECTER" analyze --summary | wc -L
for args in --list-tables "--format table" "--table summary_comms --format csv" "--table summary_ops --format md"; do
    echo "== $args"
    # shellcheck disable=SC2086  # words
    "$SPECTER" analyze --summary $args
done
# One rank has no extremes, and waits for no other.
echo "== one rank"
rank_file one 0 1 r h 9000
sed -i 's/"comms":/"launches":5,&/' one/*
"$SPECTER" analyze --summary one
# The records between are not read: what stands there does not matter.
sed -i '2a {"id":0,"type":"nccl",' traces/*.jsonl
"$SPECTER" analyze --summary | cmp - screen && echo "== the same with damaged records"
tar -cf all.tar traces
gzip traces/specter_trace_rank1.jsonl
"$SPECTER" analyze --summary | cmp - screen && "$SPECTER" analyze --summary all.tar | cmp - screen && echo "== packed, too"
