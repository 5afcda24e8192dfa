# The GPU suite's plumbing, on the stand-ins: what needs PyTorch and a device is left to tests/gpu.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "python is not sanitized"; exit 77; }
mkdir bin
printf '#!/bin/sh\necho "Stand-in GPU"\n' >bin/nvidia-smi
printf '#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec python3 "$@"\n' >bin/python
chmod +x bin/*
export PATH=$PWD/bin:$PATH PYTHON=$PWD/bin/python PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD
"$ROOT/tests/gpu/run.sh" -o out no_context contexts reset exit processes threads \
    nccl_by_handle group_exit doctor | sed "s|$PWD/||"
grep -c '^## ' out/report.md
head -n 1 out/report.md | sed 's/20[0-9-]*/DATE/'
