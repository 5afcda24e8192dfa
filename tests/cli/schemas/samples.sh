# A result of each command that has one, of inputs of each format: tests/run.sh holds all of them, and those that other
# tests leave, against share/schemas.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
n=0
sample() { # COMMAND...: JSON to stdout
    n=$((n + 1))
    "$SPECTER" "$@" >$n.json 2>log
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$n.json" 2>why || { echo "$*"; cat log; }
}
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$SPECTER" capture -o example -- "$ROOT/examples/launch.sh" -n 8 "$BUILD/examples/train" --tp 2 --iters 3 >/dev/null 2>&1
"$SPECTER" capture -o pipeline --nccl-plugin -- "$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" --pp 2 --iters 3 >/dev/null 2>&1
unset LD_LIBRARY_PATH
for traces in "$ROOT"/tests/cli/{replay,analyze}/data/two_ranks "$TESTDATA"/{two_ranks,kineto_two_ranks,kineto_torch211} example pipeline; do
    sample analyze "$traces" --json -
    sample metrics "$traces" --json -
    [[ $traces == */analyze/* ]] || sample replay "$traces" --scale 1 --json -
done
sample replay example --scale 1,8 --gpu a100_sxm --jitter 0.05 --straggler rank=0,slow=2 --slow-link node=0,slow=2 --json -
sample replay example --scale 1,4 --strong --placement spread=4 --json -
sample replay pipeline --scale 1,2 --grow pp --json -
sample sweep "$ROOT/examples/sweep.json" example pipeline --json -
cp -R example again
sample compare example again --json -
sample compare example pipeline --json -
for explain in '' --explain; do
    sample predict collective --op all_reduce --bytes 1K:1G --ranks 2,8,16,1024 $explain --json
    sample predict gemm -m 1024 -n 1024 -k 1024 $explain --json
    sample predict gemm -m 1024 -n 1024 -k 1024 --dtype fp8 --batch 4 --cold $explain --json
    sample predict p2p --bytes 1K:1G $explain --json
    sample predict p2p --bytes 1M --across $explain --json
done
sample watch example --once --json
sample watch pipeline --once --json
sample profiles --json
sample doctor --json -
for log in "$TESTDATA"/nccl_tests/*; do
    sample bench report "$log" --json -
done
# Of a GPU without a profile nothing is predicted, whatever the network.
sed 's/H100 80GB HBM3/Riva TNT2/' "$TESTDATA/nccl_tests/mpirun.log" >unknown.log
sample bench report unknown.log --json -
sample bench report unknown.log --network dgx_h100_400g --json -
[[ $n -gt 30 ]] || echo "only $n results"
