# SPDX-License-Identifier: MIT
# A file that cannot be written is an error, whichever it is, also when it shows at the end only.
[[ -w /dev/full ]] || { echo "no /dev/full"; exit 77; }
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
ln -s /dev/full full.gz
for option in --timeline --html --json; do
    "$SPECTER" replay --full --scale 1 $option /dev/full >/dev/null
    echo "$option $?"
    "$SPECTER" replay --full --scale 1 $option missing/out >/dev/null
    echo "$option $?"
done
"$SPECTER" replay --full --scale 1 --timeline full.gz >/dev/null
echo "packed $?"
"$SPECTER" replay --full --scale 1 >/dev/full
echo "text $?"
exit 0
