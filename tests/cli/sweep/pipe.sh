# SPDX-License-Identifier: MIT
# -o into a named pipe waits for who reads it, and loses nothing.
. "$ROOT"/tests/cli/sweep/grid.bash
mkfifo pipe
"$SPECTER" sweep grid.json >want.csv 2>/dev/null || [[ $? == 4 ]]
"$SPECTER" sweep grid.json -o pipe 2>/dev/null &
sleep 0.3
timeout 20 cat pipe | cmp - want.csv
wait $! || status=$?
[[ $status == 4 ]]
