# SPDX-License-Identifier: MIT
# One clear line each: options, files that are no logs, damage.
ask() { echo "--- $*"; "$SPECTER" bench report "$@" 2>&1 >/dev/null; echo "status $?"; }
cp "$TESTDATA/nccl_tests/mpirun.log" log
log=log
ask
ask a b
ask "$log" --format html
ask "$log" --op nonsense
ask "$log" --nodes 0
ask "$log" --fail-on 'fast>1'
ask "$log" --fail-on slow
ask missing.log
ask .
echo "no log" >text
ask text
: >empty
ask empty
echo '{"results":[' >cut.json
ask cut.json
echo '{"schema":"specter.bench/1","kind":"report","runs":[]}' >report.json
ask report.json
printf 'Configuration: World Size=99999999999999999999\n' >profile
ask profile
printf '  0  0  float  sum  -1  1.0  0  0  0\n' >nothing
ask nothing
for column in '-1  0  1  1  0' '-1  1e300  1  1  0' '-1  inf  1  1  0' '-1  -3  1  1  0'; do
    printf '  1024  256  float  sum  %s\n' "$column" >row
    ask row
done
# The rest stands: status 4.
{ cat "$log"; printf '     2097152        524288     float     sum      -1    201.9   10'; } >cut.log
ask cut.log
