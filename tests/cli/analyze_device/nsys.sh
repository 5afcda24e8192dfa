# SPDX-License-Identifier: MIT
# Exports of Nsight Systems: two GPUs of two processes; one that is synchronised with all the time.
[[ $("$SPECTER" --version) == *SQLite* ]] || { echo "built without SQLite"; exit 77; }
bash "$ROOT"/tests/cli/analyze_device/profile.bash nsys-ai/mfu_2gpu_before.sqlite \
    pipit/perlmutter-cloverleaf-cuda.sqlite
