# SPDX-License-Identifier: MIT
# The bar is there on a terminal alone, and is taken away; NO_COLOR and --color decide its color.
command -v script >/dev/null || { echo "no script"; exit 77; }
. "$ROOT"/tests/cli/sweep/grid.bash
export TERM=xterm
on_terminal() {
    script -qec "$* 2>&1 >/dev/null" /dev/null </dev/null
}
many_jobs 10 >many.json # long enough to be seen
on_terminal "$SPECTER" sweep many.json >bar
sed 's/\x1b\[[0-9;]*[mK]//g' bar | grep -q '\[=* *\] [0-9]*/[0-9]*0  .*/s  ETA 0:00:[0-9]*  .*x' || cat -v bar
grep -qF $'\033[32m' bar || echo "no color"
on_terminal "$SPECTER" sweep grid.json | grep -qF $'\r\033[Kspecter:' || echo "the bar stays"
NO_COLOR=1 on_terminal "$SPECTER" sweep grid.json >bar
grep -q '/18' bar && ! grep -qF $'\033[32m' bar || echo "NO_COLOR does nothing"
NO_COLOR=1 on_terminal "$SPECTER" sweep grid.json --color always | grep -qF $'\033[32m' || echo "--color always"
on_terminal "$SPECTER" sweep grid.json --color never | grep -q $'\033\\[[0-9;]*m' && echo "--color never"
TERM=dumb on_terminal "$SPECTER" sweep grid.json | grep -q '/18' && echo "a bar on a dumb terminal"
"$SPECTER" sweep grid.json --color always 2>&1 >/dev/null | grep -q '/18' && echo "a bar in a pipe"
exit 0
