# SPDX-License-Identifier: MIT
# The folder of tables.
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format csv -o tables
echo "status $?"
for table in tables/*.csv; do
    echo "== $table"
    sed 's|,/[^,]*/traces/|,traces/|' "$table"
done
"$SPECTER" export traces --format csv --rank 1 -o one && cut -d, -f1 one/ops.csv | sort | uniq -c
