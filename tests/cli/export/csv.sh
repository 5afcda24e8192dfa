# SPDX-License-Identifier: MIT
# The folder of tables; SQLite reads it and joins the members of a match.
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format csv -o tables
echo "status $?"
for table in tables/*.csv; do
    echo "== $table"
    sed 's|,/[^,]*/traces/|,traces/|' "$table"
done
"$SPECTER" export traces --format csv --rank 1 -o one && cut -d, -f1 one/ops.csv | sort | uniq -c
command -v sqlite3 >/dev/null || exit 0
sqlite3 -csv :memory: '.import tables/ops.csv ops' \
    'select a.op, a.rank, b.rank, b.start_us - a.start_us from ops a join ops b on a.match = b.match and a.rank < b.rank where a.match <> "" order by 1, 2' >joined
printf 'AllGather,0,1,0.0\nAllReduce,0,1,20.0\nSend,0,1,-2.0\n' | diff joined - && echo "joined"
