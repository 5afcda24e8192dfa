# SPDX-License-Identifier: MIT
# A user without root gets everything in one call: each step is done, and the commands that the summary names
# read the folder without a word of what else lies in it.
. "$ROOT/tests/cli/profile_node/common.bash"
if [[ $(id -u) == 0 ]]; then
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chown 65534 . "$TMPDIR"
    "${as_user[@]}" test -x "$SPECTER" -a -x "$ROOT" || { echo "another user cannot read $ROOT"; exit 77; }
fi
profile_node --quick --gpus 4 -o out >text 2>err
echo "status $?"
cat err
steps out
grep -oE '^  (collective|p2p|gemm|drift|workload)' text | uniq -c
sed -n '1p; /^Measured/p; /^Files/,$p' text | mask
tr '\n' ' ' <"$(echo out/bench/run_*/calibrate.txt)" | grep -oE 'mma_share|start_us' | uniq
for command in "analyze out" "replay out --scale 1,2" "replay out --from-gpu out/profile.json --gpu b200_sxm" \
    "validate out/bench" "calibrate out/bench -o again.json"; do
    # shellcheck disable=SC2086  # words
    "$SPECTER" $command >/dev/null 2>said
    echo "$?: $command"
    cat said
done
mkdir copy && tar -xzf out.tar.gz -C copy && diff -r -x summary.txt out copy/out && echo "the archive holds the same"
[[ $(id -u) != 0 ]] || find out out.tar.gz ! -uid 65534
