# The older command line: names with _16, one value, JSON with what it is made of; the formats apart.
. "$ROOT"/tests/cli/built.bash
export BUILD SPECTER
ccl=$ROOT/scripts/ccl-metrics
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$ccl" --list-metrics | head -n 3
"$ccl" --trace traces --metric coll_call_num_16
"$ccl" --trace traces --metric coll_call_num --profile-mode specter
"$ccl" --trace traces --metric coll_call_num --output-json file.json && grep -c '"coll_call_num"' file.json
"$ccl" --trace traces --metric coll_call_num --output-json | grep '"schema"'
say() {
    "$@" 2>&1 | sed "s|$PWD/||g"
    echo "status ${PIPESTATUS[0]}"
}
say "$ccl" --trace traces --metric throughput_tokens
say "$ccl" --trace traces --metric iter_tim
say "$ccl" --trace traces --metric iter_time --profile-mode nsys
say "$ccl" --trace traces --metric iter_time --profile-mode all
say "$ccl" --trace none --metric iter_time
say "$ccl" --trace traces
say "$ccl" --fast
