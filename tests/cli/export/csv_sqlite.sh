# SPDX-License-Identifier: MIT
# SQLite reads the tables and joins the members of a match.
command -v sqlite3 >/dev/null || { echo "no sqlite3"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format csv -o tables || exit 1
sqlite3 -csv :memory: '.import tables/ops.csv ops' \
    'select a.op, a.rank, b.rank, b.start_us - a.start_us from ops a join ops b on a.match = b.match and a.rank < b.rank where a.match <> "" order by 1, 2' >joined
printf 'AllGather,0,1,0.0\nAllReduce,0,1,20.0\nSend,0,1,-2.0\n' | diff joined -
