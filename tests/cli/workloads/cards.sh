# Every workload's card follows the schema and agrees with its config; a fault is one line with file and place.
python3 -c '' 2>/dev/null || { echo "no python3"; exit 77; }
check="python3 $ROOT/examples/workloads/check_card.py"
yaml=
"$SPECTER" --version | grep -q '^libyaml [0-9]' && yaml=1
for folder in "$ROOT"/examples/workloads/*-perlmutter-16; do
    $check "$folder/workload_card.yaml" "$folder/train_config.toml" || echo "$folder: status $?"
    [[ $(grep -c . "$folder/run.sh") -lt 8 && -x $folder/run.sh && -f $folder/pyproject.toml ]] || echo "$folder: run.sh"
    grep -q "^#SBATCH --job-name=${folder##*/}$" "$folder/run.sbatch" || echo "$folder: name of the job"
    # specter metrics reads of it:
    [[ -z $yaml ]] || "$SPECTER" metrics "$ROOT/tests/cli/analyze/data/two_ranks" --metric throughput_tokens \
        --card "$folder/workload_card.yaml" >out 2>err || { [[ $? == 4 ]] || cat err; }
done
# The sizes of the seven.
for folder in "$ROOT"/examples/workloads/*-perlmutter-16; do
    echo "${folder##*/}: $($check "$folder/workload_card.yaml" "$folder/train_config.toml" --values |
        sed -n 's/card_//; /^dp_shard\|^tp\|^pp\|^gpus\|^nodes/p' | paste -sd ' ')"
done
cp "$ROOT"/examples/workloads/llama3.1-8b-torchtitan-tp-perlmutter-16/* .
wrong() { # SED-SCRIPT FILE
    cp "$2" right
    sed -i "$1" "$2"
    $check workload_card.yaml train_config.toml 2>&1
    echo "status $?"
    cp right "$2"
}
wrong 's/tp: 4/tp: 2/' workload_card.yaml
wrong 's/tensor_parallel_degree = 4/tensor_parallel_degree = 8/' train_config.toml
wrong '/seq_len = /d' train_config.toml
wrong 's/precision: bf16/precision: bfloat/; s/total_count: 4/total_count: four/; s/tp: 4/degree: 4/' workload_card.yaml
wrong 's/steps = 80/steps/' train_config.toml
wrong 's/tp: 4/- tp/' workload_card.yaml
$check none.yaml train_config.toml 2>&1
echo "status $?"
