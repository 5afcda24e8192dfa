# SPDX-License-Identifier: MIT
# Work that was launched before the trace began makes no negative depth.
bash "$ROOT"/tests/cli/analyze_device/profile.bash hta/negative_queue_length_values_check/rank0.json.gz
