# A collective left out for one of the GPUs of a process: that GPU is named.
. "$ROOT/tests/cli/analyze/devices.bash"
export EMU_CLOCK=real
devices traces 2 2 hang 2>/dev/null
for _ in {1..400}; do
    [[ $(grep -hs '"timing":"none"' traces/* | wc -l) -ge 3 ]] && break
    sleep 0.05
done
sleep 0.3 # for what else is to be written
{
    kill -9 "${pids[@]}"
    wait
} 2>/dev/null
env -u LD_LIBRARY_PATH "$SPECTER" analyze --full traces --json out.json --fail-on 'hangs>0' >out.txt 2>err.txt
echo "status $?"
awk '/"hangs":/ { on = 1 } /"coverage":/ { on = 0 } on && /"(cause|text)":/' out.json |
    sed -E 's/^[[:space:]]*//; s/[0-9.]+ m?s([,;"])/T\1/; s/\\"[0-9a-f]{16}\\"/ID/g'
