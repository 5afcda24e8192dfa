# SPDX-License-Identifier: MIT
# XLA writes one file a host into a folder a session; times have a zero of their own, so that hosts are
# aligned by their collectives. The same host again is another session.
. "$ROOT/tests/cli/xla/xla.bash"
session=logs/plugins/profile/2026_01_02_03_04_05
mkdir -p $session
trace 10 2 1000 | gzip -n >$session/node7.trace.json.gz
trace 10 2 123457000 | gzip -n >$session/node8.trace.json.gz
echo 'not text' >$session/node7.xplane.pb
cp $session/node7.trace.json.gz $session/perfetto_trace.json.gz # create_perfetto_link writes it again
"$SPECTER" analyze logs 2>&1 | head -n 8
"$SPECTER" analyze logs --table ranks --format csv 2>/dev/null | cut -d, -f1-4
mkdir -p logs/plugins/profile/2026_02_02_03_04_05
cp $session/node7.trace.json.gz logs/plugins/profile/2026_02_02_03_04_05
touch -d '1 minute ago' $session/*.gz
"$SPECTER" analyze logs 2>&1 | grep 'other run\|ranks,'
# Without collectives nothing joins the clocks of two hosts; they are no wall clocks.
mkdir alone && for host in 7 8; do trace 4 2 ${host}000 | grep -v AllReduce >alone/node$host.trace.json; done
"$SPECTER" analyze alone 2>&1 | grep machines
