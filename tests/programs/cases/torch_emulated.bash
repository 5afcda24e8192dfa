# PyTorch on the stand-ins of tests/emu, one rank of DistributedDataParallel: its NCCL, cuBLAS and CUDA calls
# are traced.
CALLS=yes

prepare() {
    need_python torch
    [[ -e $BUILD/emu/lib/libcuda.so.1 ]] || missing "no stand-ins: make emu"
    # Makes the copy of the environment that has the stand-ins in it.
    BUILD=$BUILD SPECTER_TORCH=$(dirname "$(dirname "$(<"$MADE/python")")") "$ROOT/tests/gpu/rehearse.sh" --run true
}

program() {
    BUILD=$BUILD SPECTER_TORCH=$(dirname "$(dirname "$(<"$MADE/python")")") MASTER_PORT=29577 \
        "$ROOT/tests/gpu/rehearse.sh" --run python "$ROOT/tests/gpu/workload.py" transformer --deterministic --steps 4 \
        --warmup 2
    echo "status $?"
}
# Times differ from run to run.
normalize() { sed -E 's/"wall_s": [^,]+, "step_us": \[[^]]*\], //'; }
