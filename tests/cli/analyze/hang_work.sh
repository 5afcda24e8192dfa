# A product that does not end: it has no size in bytes, and no communicator.
mkdir traces
cat >traces/specter_trace_rank0.jsonl <<'END'
{"event":"init","version":1,"run":"r","rank":0,"world_size":1,"host":"h","mono_ns":1000,"real_ns":1000,"coverage":["nccl","cublas"],"gpus":[]}
{"id":0,"type":"cublas","op":"GemmEx","start_us":10.0,"duration_us":null,"m":64,"n":64,"k":64,"batch":1,"dtype":"fp16","device":0,"stream":1,"tid":0,"host_us":5.0,"host_end_us":6.0,"timing":"none"}
{"event":"clock","device":0,"dev_us":3000000.0,"mono_ns":3000001000,"real_ns":3000001000,"err_ns":0}
END
"$SPECTER" analyze --full traces --json out.json >out.txt 2>/dev/null
awk '/"hangs":/ { on = 1 } /"coverage":/ { on = 0 } on && /"(cause|text|op|bytes|comm|seq)":/' out.json
