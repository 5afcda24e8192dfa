# SPDX-License-Identifier: MIT
# The pages of DLRM and ResNet profiled by PyTorch, and of an Nsight profile.
. "$ROOT"/tests/cli/page/common.bash
traces=$SHARED/data/traces
[[ -n $SHARED && -e $traces/param/dlrm_kineto.tar.gz ]] || { echo "no ../shared data"; exit 77; }
page dlrm analyze "$traces/param/dlrm_kineto.tar.gz"
page resnet analyze "$traces/tracelens/resnet_act_checkpoint.json.gz"
page dlrm_replay replay "$traces/param/dlrm_kineto.tar.gz" --gpu h100_sxm
"$SPECTER" --version | grep -q -i sqlite || { echo "no SQLite"; exit 0; }
page nsys analyze "$traces/nsys-ai/mfu_2gpu_before.sqlite"
