# SPDX-License-Identifier: MIT
# A job of which no operation was recorded: there is nothing to predict, and no 0 ns.
mkdir job
cat >job/specter_trace_rank0.jsonl <<'T'
{"event":"init","rank":0,"world_size":1,"sync_mode":0,"pid":1}
T
"$SPECTER" replay --full job --gpu h100_sxm
