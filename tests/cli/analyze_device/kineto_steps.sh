# SPDX-License-Identifier: MIT
# One rank, several steps; launches before the trace began.
bash "$ROOT"/tests/cli/analyze_device/profile.bash tracelens/resnet_act_checkpoint.json.gz \
    hta/nccl_parser_config/nccl_data.json.gz
