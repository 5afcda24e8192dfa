# SPDX-License-Identifier: MIT
# Exports of Nsight Systems: two GPUs of two processes; one that is synchronised with all the time.
. "$ROOT"/tests/cli/built.bash
needs SQLite
bash "$ROOT"/tests/cli/analyze_device/profile.bash nsys-ai/mfu_2gpu_before.sqlite \
    pipit/perlmutter-cloverleaf-cuda.sqlite
