# SPDX-License-Identifier: MIT
# Files that cannot be used: one line each, status 3.
. "$ROOT"/tests/cli/nsys/made.bash
try() { "$SPECTER" analyze --full "$1"; echo "status $?"; } 2>&1
sqlite3 other.sqlite 'CREATE TABLE t (a)'
try other.sqlite
make_export cut.sqlite
truncate -s 9000 cut.sqlite
try cut.sqlite
make_export view.sqlite
sqlite3 view.sqlite 'DROP TABLE NVTX_EVENTS; CREATE VIEW NVTX_EVENTS AS SELECT * FROM StringIds'
try view.sqlite
sqlite3 empty.sqlite 'CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)'
try empty.sqlite
sqlite3 env.sqlite 'CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)'
try env.sqlite
make_export odd?name%20#.sqlite
"$SPECTER" analyze --full 'odd?name%20#.sqlite' 2>&1 | head -n 2
