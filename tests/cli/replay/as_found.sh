# SPDX-License-Identifier: MIT
# The GPU in the state in which it was found: recorded there and asked for another, the other way round, and
# the models held against the recording in that state. The nominal H100 multiplies at 0.89 of 1830 MHz.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
echo '{"gpu": {"name": "found", "base": "h100_sxm", "clock_MHz": 915}}' >found.json
gemms() {
    printf '%-52s ' "$*"
    "$SPECTER" replay --full --scale 1 "$@" --json - 2>/dev/null | awk '
        /"rule":.*"gemms"/ { on = 1 }
        on && /"measured_us"/ { measured = $2 + 0 }
        on && /"target_us"/ { printf "%.2f of the measured time\n", ($2 + 0) / measured; exit }'
}
gemms
gemms --gpu found.json
gemms --from-gpu found.json --gpu h100_sxm
gemms --from-gpu found.json
gemms --no-calibrate
gemms --from-gpu found.json --gpu found.json --no-calibrate
sed -i s/915/99/ found.json
"$SPECTER" replay --full --gpu found.json
echo "status $?"
