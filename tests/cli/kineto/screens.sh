# SPDX-License-Identifier: MIT
# The first screens of real profiles: what takes the time, whether it may be waiting, and advice that names tables which
# there are.
traces=$SHARED/data/traces
[[ -n $SHARED && -e $traces/param/linear_kineto.json.gz ]] || { echo "no ../shared data"; exit 77; }
export LC_ALL=C COLUMNS=80
for name in hta/nccl_parser_config/nccl_data.json.gz hta/negative_queue_length_values_check/rank0.json.gz \
    param/linear_kineto.json.gz tracelens/resnet_act_checkpoint.json.gz; do
    echo "== $name"
    "$SPECTER" analyze "$traces/$name" 2>&1
done
echo "== flight_recorder/lock_gil_1st"
"$SPECTER" analyze "$traces/flight_recorder/lock_gil_1st" 2>/dev/null | tail -n 1
