# Doctor's answer is held against a PyTorch that loads the stand-ins: it agrees, until the package loads another NCCL
# than its files say, or the machine has another GPU.
. "$ROOT/tests/cli/doctor/common.bash"
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$BUILD/emu/lib PYTHONPATH=$PWD/site
python=$(python3 -c 'import sys; print(sys.executable)')
mkdir -p site/torch site/torch-2.11.0.dist-info bin other
cat >site/torch/__init__.py <<'PY'
import ctypes, os
if "OTHER" in os.environ:
    ctypes.CDLL(os.environ["OTHER"])
ctypes.CDLL(os.path.join(os.path.dirname(__file__), "_C.so"))
PY
printf 'Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n' >site/torch-2.11.0.dist-info/METADATA
"$cc" -shared -fPIC -Wl,--no-as-needed -o site/torch/_C.so -xc - -xnone "$BUILD"/emu/lib/lib{cudart,cublas,cublasLt}.so.13 \
    "$BUILD/emu/lib/libnccl.so.2" <<<'int module;' || exit 1
cp "$BUILD/emu/lib/libnccl.so.2" other/
gpus() { { echo '#!/bin/sh'; printf "echo 'GPU %d: $1 (UUID: GPU-x)'\n" {0..7}; } >bin/nvidia-smi; }
gpus 'NVIDIA H100 80GB HBM3'
chmod +x bin/nvidia-smi
export PATH=$PWD/bin:$PATH

held() {
    local status=0
    "$python" "$ROOT/tests/gpu/doctor.py" "$SPECTER" >said 2>&1 || status=$?
    grep -E '^(GPUs|the first|driver for|libraries by|facts about|problems|exit|cu|nccl) ?.*[^/]$' said | grep -v ': doctor says'
    echo "status $status"
}
held
OTHER=$PWD/other/libnccl.so.2 held | grep -E 'FAILS|status'
gpus 'NVIDIA H200'
held | grep -E 'FAILS|status'
