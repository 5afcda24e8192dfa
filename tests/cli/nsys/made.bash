# SPDX-License-Identifier: MIT
# make_export FILE: one process, two kernels and a copy, with the tables that must never be read.
command -v sqlite3 >/dev/null || { echo "no sqlite3"; exit 77; }
[[ $("$SPECTER" --version) == *SQLite* ]] || { echo "built without SQLite"; exit 77; }

make_export() {
    sqlite3 "$1" <<'SQL'
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'saxpy(int, float)'), (2, 'cudaLaunchKernel_v7000'), (3, 'step 1');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER, shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (2000, 5000, 0, 1, 7, 1, 281474993487872, 1, 1), (6000, 9000, 0, 1, 7, 2, 281474993487872, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
    copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9000, 12000, 0, 1, 7, 3, 281474993487872, 6000, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 0, 281474993487882, 1, 2),
    (1600, 1700, 0, 281474993487882, 2, 2), (1800, 1900, 0, 281474993487882, 3, 2);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
    globalTid INTEGER, textId INTEGER);
INSERT INTO NVTX_EVENTS VALUES (900, 12500, 59, NULL, 281474993487882, 3);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, name TEXT, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'Hostname', 'SECRET-HOST');
CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('ENVIRONMENT', 'TOKEN=SECRET-TOKEN');
SQL
}
