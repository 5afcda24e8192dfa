# PyTorch with several versions of NCCL, each loaded before it and so in the place of its own. The first is too
# old for it: it does not load.
CALLS=yes
VERSIONS='cu12-2.21.5 cu13-2.28.9 cu13-2.29.7 cu13-2.30.7'

prepare() {
    local version
    need_python torch
    for version in $VERSIONS; do
        [[ -e $PROGRAMS/nccl/$version/done ]] || missing "no NCCL $version in build/programs (GET=1 fetches it)"
    done
    cat >version.py <<'PY'
import ctypes, sys

other = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
import torch

print(torch.cuda.nccl.version(), len(torch.cuda.nccl.unique_id()))
try:
    torch.cuda.nccl.all_reduce([torch.zeros(4)])
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
own = ctypes.CDLL("libnccl.so.2")
for library in (other, own):
    version = ctypes.c_int()
    print(library.ncclGetVersion(ctypes.byref(version)), version.value, library.ncclGroupStart(), library.ncclGroupEnd())
PY
}

program() {
    local version
    export NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1
    for version in $VERSIONS; do
        python "$MADE/version.py" "$PROGRAMS/nccl/$version/nvidia/nccl/lib/libnccl.so.2"
        echo "status $?"
    done
}
