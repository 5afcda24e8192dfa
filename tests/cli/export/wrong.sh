# SPDX-License-Identifier: MIT
source "$ROOT/tests/cli/export/trace.bash"
for wrong in '' '--format xml' '--format csv --rank 7' '--format perfetto -o /dev/full' \
    '--format chrome -o none/x.json' '--format csv -o traces/specter_trace_rank0.jsonl' \
    '--format chakra -o /dev/null/x'; do
    "$SPECTER" export traces $wrong
    echo "$wrong: $?"
done
"$SPECTER" export nowhere --format csv
echo "nowhere: $?"
mkdir empty
"$SPECTER" export empty --format csv
echo "empty: $?"
