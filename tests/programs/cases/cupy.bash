# CuPy without a driver: its CUDA runtime, the kernel compiler, NCCL 2.26.2 by its own bindings.
CALLS=yes

prepare() {
    need_python cupy
    [[ -e $PROGRAMS/nccl/cu12-2.26.2/done ]] || missing "no NCCL cu12-2.26.2 in build/programs (GET=1 fetches it)"
    cat >small.py <<'PY'
import sys
import numpy
import cupy
from cupy.cuda import nccl, runtime
from cupy_backends.cuda.libs import nvrtc

def tell(name, call):
    try:
        print(name, call())
    except Exception as error:
        print(name, type(error).__name__, error)

def compiled():
    program = nvrtc.createProgram('extern "C" __global__ void f(float *p) { p[threadIdx.x] += 1; }', "f.cu", (), ())
    nvrtc.compileProgram(program, ("--gpu-architecture=compute_90",))
    return nvrtc.getVersion(), len(nvrtc.getPTX(program)) > 100

tell("runtime", runtime.runtimeGetVersion)
tell("devices", runtime.getDeviceCount)
tell("memory", lambda: runtime.malloc(1024))
tell("array", lambda: cupy.arange(4).sum())
tell("kernel", compiled)
tell("nccl", lambda: (nccl.available, nccl.get_version(), len(nccl.get_unique_id())))
tell("communicator", lambda: nccl.NcclCommunicator(1, nccl.get_unique_id(), 0))
tell("group", lambda: (nccl.groupStart(), nccl.groupEnd()))
sys.exit(5)
PY
}

program() {
    export NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1
    LD_LIBRARY_PATH=$PROGRAMS/nccl/cu12-2.26.2/nvidia/nccl/lib:$(echo "$PROGRAMS"/python/lib/*/site-packages/nvidia/cuda_nvrtc/lib) python "$MADE/small.py"
    echo "status $?"
}
# The numbers of the sockets of NCCL's thread differ from run to run.
normalize() { if [[ $1 == processes ]]; then descriptor_kinds; else cat; fi; }
