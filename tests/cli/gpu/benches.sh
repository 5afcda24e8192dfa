# SPDX-License-Identifier: MIT
# The suite's checks of bench, on the stand-ins: a rank alone, and two ranks on one GPU.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "python is not sanitized"; exit 77; }
[[ -d $BUILD/emu/lib ]] || { echo "no stand-in libraries"; exit 77; }
mkdir bin
printf '#!/bin/sh\necho "Stand-in GPU"\n' >bin/nvidia-smi
printf '#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec python3 "$@"\n' >bin/python
chmod +x bin/*
echo 'clock_ppm = 0 3' >fabric.conf
export PATH=$PWD/bin:$PATH PYTHON=$PWD/bin/python PYTHONDONTWRITEBYTECODE=1 SPECTER_REHEARSAL=1 CUDA_VISIBLE_DEVICES=0
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_FABRIC=$PWD/fabric.conf
"$ROOT/tests/gpu/run.sh" -o out bench_alone bench_shared | sed "s|$PWD/||"
grep -h ': holds$\|FAILS$' out/checks/bench_alone.log out/checks/bench_shared.log | sed 's/[-+0-9.e]* ppm, at/N ppm, at/; s/: [0-9.]*, at least 0.9/: N, at least 0.9/; s/most [0-9.]* ppm/most N ppm/'
