# SPDX-License-Identifier: MIT
# Many small kernels, no steps.
bash "$ROOT"/tests/cli/analyze_device/profile.bash param/linear_kineto.json.gz
