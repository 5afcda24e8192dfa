# SPDX-License-Identifier: MIT
# Ctrl-C and a kill while a replay computes: one line, the status of the signal, what was there before stays, and
# nothing else is left.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
mkdir out
echo before >out/steps.json
for signal in INT TERM HUP; do
    timeout --preserve-status -s $signal 1 "$SPECTER" replay traces --jitter 5% --draws 10000 --scale "$(seq -s, 1 2000)" \
        --html out/page.html --timeline out/steps.json >text
    echo "$signal: status $?"
    cat text
done
ls out
cat out/steps.json
# One that is not to be interrupted, as a shell starts what runs beside it, goes on.
"$SPECTER" replay traces --jitter 5% --draws 10000 --scale "$(seq -s, 1 30)" --json out/all.json >/dev/null &
sleep 0.2
kill -INT $! 2>/dev/null
wait $!
echo "ignored: status $?"
ls out
