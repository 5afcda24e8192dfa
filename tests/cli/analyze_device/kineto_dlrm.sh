# SPDX-License-Identifier: MIT
# 8 ranks, one step; whole microseconds.
bash "$ROOT"/tests/cli/analyze_device/profile.bash param/dlrm_kineto.tar.gz
