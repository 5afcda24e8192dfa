# SPDX-License-Identifier: MIT
mkdir traces
printf "\001\002\003 this is no trace\n" >traces/specter_trace_rank0.jsonl
"$SPECTER" analyze --full
