# SPDX-License-Identifier: MIT
# Reports (.nsys-rep): without nsys, with one that works, fails, writes nothing, and with the export
# beside it. The nsys here is a stand-in that copies an export.
. "$ROOT"/tests/cli/nsys/made.bash
make_export made.db
head -c 1000 /dev/zero | tr '\0' 'n' >"it's.nsys-rep"
mkdir bin tmp
export TMPDIR=$PWD/tmp
run() { "$SPECTER" analyze --full "$1" 2>&1 | sed -n '1,3p'; echo "status ${PIPESTATUS[0]}"; }
nsys() { printf '#!/bin/sh\n%s\n' "$1" >bin/nsys; chmod +x bin/nsys; }

echo "- no nsys"
run "it's.nsys-rep"
PATH=$PWD/bin:$PATH
echo "- nsys exports"
nsys 'echo "$1 $2 $3 $4 $6 $7" >called; echo noise; [ -e "$7" ] && cp made.db "$5"'
run "it's.nsys-rep"
cat called
echo "- an older nsys exports"
nsys '[ $# = 6 ] || { echo "unknown option"; exit 1; }; cp made.db "$5"'
run "it's.nsys-rep"
echo "- nsys fails"
nsys 'echo first; echo "the report is damaged" >&2; exit 7'
run "it's.nsys-rep"
nsys 'kill -9 $$'
run "it's.nsys-rep"
echo "- nsys writes nothing"
nsys 'exit 0'
run "it's.nsys-rep"
echo "- the export is there"
nsys 'touch converted'
cp made.db "it's.sqlite"
run "it's.nsys-rep"
mkdir folder
mv it\'s.* folder
run folder
ls -A tmp
[[ ! -e converted ]]
echo "- a report is left out for the export of its name, not for one whose name begins so"
mkdir names
for name in job job1 job10; do cp folder/*.nsys-rep names/$name.nsys-rep; done
cp made.db names/job10.sqlite
cp made.db names/job1.old.sqlite
"$SPECTER" analyze names 2>&1 >/dev/null | grep -o 'names/job[0-9]*.nsys-rep' | sort -u
