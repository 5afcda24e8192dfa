# SPDX-License-Identifier: MIT
# Reports and exports of two jobs in one folder: one run is read, whichever form its files have, and a
# report whose export is there counts once.
. "$ROOT"/tests/cli/nsys/made.bash
mkdir t bin
export TMPDIR=$PWD
PATH=$PWD/bin:$PATH
make_session() { # FILE UTC_S PROCESS
    make_export "$1"
    sqlite3 "$1" "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ($2 * 1000000000);
        UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = globalPid + ($3 << 24);
        UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET globalPid = globalPid + ($3 << 24);
        UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = globalTid + ($3 << 24);
        UPDATE NVTX_EVENTS SET globalTid = globalTid + ($3 << 24)"
}
run() { "$SPECTER" analyze --full t "$@" 2>&1 | grep "other run\|^nsys trace"; }
for job in old new; do
    printf 'report' >t/$job.nsys-rep
done
make_session t/old.sqlite 1700000000 0
make_session t/new.sqlite 1700086400 1
echo "- exports beside both"
run
run --run old.sqlite
echo "- beside one; nsys makes the other"
mv t/new.sqlite new.db
printf '#!/bin/sh\ncp new.db "$5"\n' >bin/nsys
chmod +x bin/nsys
run
echo "- reports alone"
mv t/old.sqlite old.db
printf '#!/bin/sh\n[ "$7" = "${7%%old.nsys-rep}" ] && cp new.db "$5" || cp old.db "$5"\n' >bin/nsys
run
