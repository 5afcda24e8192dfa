# sqlite3: a database on disk with a journal, a query, an error.
COMMAND=sqlite3

prepare() { need sqlite3; }

program() {
    sqlite3 data.db <<'SQL'
PRAGMA journal_mode = WAL;
CREATE TABLE t (i INTEGER PRIMARY KEY, v TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO t SELECT i, hex(i * 7919) FROM n;
SELECT count(*), max(v), sum(i) FROM t;
.shell echo from a child
SELECT nothing FROM t;
SQL
    echo "status $?"
    sqlite3 data.db 'PRAGMA integrity_check'
}
