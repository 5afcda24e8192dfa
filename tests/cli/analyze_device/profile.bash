# SPDX-License-Identifier: MIT
# For the tests of real profiles: profile.bash TRACE...: each against check.py.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
for trace; do
    [[ -n $SHARED && -e $SHARED/data/traces/$trace ]] || { echo "no ../shared data"; exit 77; }
done
for trace; do
    echo "${trace##*/}: $(python3 "$ROOT"/tests/cli/analyze_device/check.py \
        "$SHARED/data/traces/$trace" "$SPECTER")"
done
