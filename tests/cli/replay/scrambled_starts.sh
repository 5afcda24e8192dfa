# SPDX-License-Identifier: MIT
# Recorded start times are never played back: nonsense in their place changes nothing, where no work between
# operations is to be found in them.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks recorded
sed -i 's/"coverage":\["nccl",/&"launches",/' recorded/*.jsonl
cp -r recorded traces
replayed() {
    "$SPECTER" replay --full --scale 1,8 --json - 2>/dev/null |
        awk '/"(replayed|scales)"/ { on = 1 } on && /_us/ && !/recorded/ { print } /^\t\],?/ { on = 0 }'
}
replayed >before
for seed in 1 2 3; do
    for file in recorded/*.jsonl; do
        awk -v seed=$seed 'BEGIN { srand(seed) }
            /"start_us"/ { sub(/"start_us":-?[0-9.]*/, sprintf("\"start_us\":%.3f", rand() * 1e6)) }
            { print }' "$file" >"traces/${file##*/}"
    done
    replayed >after
    cmp before after || exit 1
done
wc -l <before
