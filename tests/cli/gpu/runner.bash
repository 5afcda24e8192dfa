# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The GPU suite's runner over made checks, with programs that stand where nvidia-smi and PyTorch would be.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir -p bin checks
cat >bin/nvidia-smi <<'SH'
#!/bin/sh
case $* in
*-L*) echo "GPU 0: Made GPU 80GB" ;;
*=name,*) echo "Made GPU 80GB, 1.2.3, [N/A], 80 GiB, 345 MHz, 1980 MHz, 1 MHz, 2 MHz, 70 W, 700 W, 700 W, 30, Enabled, Default, Disabled, Enabled, 5, 16" ;;
*=clocks.sm,*) echo "1980 MHz, 300 W, 40, 0x0" ;;
esac
SH
# shellcheck disable=SC2016 # of the made program
printf '#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec python3 "$@"\n' >bin/python
chmod +x bin/*
export PATH=$PWD/bin:$PATH PYTHON=$PWD/bin/python PYTHONDONTWRITEBYTECODE=1 GPU_CHECKS=$PWD/checks

# gpu_suite OPTION...: the suite, its messages without this folder, and its status.
gpu_suite() {
    local status=0
    "$ROOT/tests/gpu/run.sh" -o out "$@" >said 2>&1 || status=$?
    sed "s|$PWD/||g" said
    echo "status $status"
}

# left_alive: how many processes of the checks are there.
left_alive() { grep -lzF "SPECTER_FIGURES=$PWD/" /proc/[0-9]*/environ 2>/dev/null | wc -l; }
