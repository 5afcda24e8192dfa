# SPDX-License-Identifier: MIT
# A replay prices collectives by the recording's version of NCCL; --nccl is another one, and a grid may list several.
# analyze expects what the recorded version takes.
cp -r "$ROOT"/tests/data/two_ranks traces
sed -i 's/"bytes":2000,"count":1000/"bytes":1048576,"count":524288/' traces/*.jsonl
comm_us() {
    "$SPECTER" replay traces --scale 1 --json - "$@" | sed -n '/"scales":/,$s/.*"comm_us":[^0-9]*\([0-9.]*\).*/\1/p' |
        head -1
}
note() {
    "$SPECTER" replay traces --full --scale 1 "$@" |
        sed -n '/NCCL 2/,/^  - /p' | sed '$d'
}
expected() {
    "$SPECTER" analyze traces --json - 2>/dev/null |
        sed -n 's/^.*"expected_us":[^0-9]*\([0-9.]*\).*/expected \1/p' | head -1
}
echo "recorded $(comm_us), 2.30 $(comm_us --nccl 2.30), 2.19 $(comm_us --nccl 2.19)"
note
note --nccl 2.19
note --nccl 2.28.9
expected
sed -i 's/"nccl":22809/"nccl":21903/' traces/*.jsonl
echo "recorded $(comm_us), 2.30 $(comm_us --nccl 2.30), 2.19 $(comm_us --nccl 2.19)"
expected
# The recording's own stands above what a profile says of its machine; on a target the profile's counts.
echo '{"network": {"name": "new", "base": "dgx_h100_400g", "nccl": 23004}}' >new.json
echo "from new $(comm_us --from-network new.json), to new $(comm_us --network new.json)"
echo "both new $(comm_us --from-network new.json --network new.json)"
note --network new.json
note --network new.json --nccl 2.19.3
sed -i 's/"nccl":21903/"nccl":22809/' traces/*rank1.jsonl
echo "ranks of two versions $(comm_us), the older counts"
sed -i 's/"nccl":[0-9]*,//' traces/*.jsonl
note --nccl 2.19
"$SPECTER" replay traces --nccl 2.19 --gpu mi300x
echo '{"scales": 1, "nccl": [null, "2.30", "2.19"]}' >grid.json
"$SPECTER" sweep grid.json traces -o out.csv --json points.json 2>/dev/null
head -1 out.csv | tr , '\n' | grep -n '^nccl$\|^status$\|^reason$\|^comm_us$' >places
cut -d , -f "$(cut -d : -f 1 places | paste -s -d ,)" out.csv
echo '{"scales": 1, "nccl": "none"}' >grid.json
"$SPECTER" sweep grid.json traces
"$SPECTER" replay traces --nccl 3
