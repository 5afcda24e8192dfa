# SPDX-License-Identifier: MIT
. "$ROOT"/tests/cli/built.bash
needs libyaml # whose words are in the messages
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
for wrong in '--metric itertime' '--metric iter_time,x' '--card none.yaml' '--parallel tp=7' '--metric mfu' \
    '--metric mfu,comm_volume' '--metric='; do
    "$SPECTER" metrics traces $wrong >out 2>err
    echo "$wrong: $?"
    grep -v note: err
done
card() {
    "$SPECTER" metrics traces --metric mfu --card card >out 2>err
    echo "card: $?"
    grep -v note: err
}
printf 'seq_len: many\n' >card && card
printf 'seq_len: -4\n' >card && card
printf 'seq_len: 1e400\n' >card && card
printf '{"seq_len": 4096' >card && card
printf '{"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}' >card && card
printf 'a: &x {b: 1}\nc: *x\n' >card && card
printf 'a:\n - b\n c: [\n' >card && card
printf '? {a: b}\n: c\n' >card && card
printf '' >card && card
head -c 2000000 /dev/zero | tr '\0' 'a' >card && card
