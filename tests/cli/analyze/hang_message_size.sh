# A message whose ends do not agree on its size: the sentence has both, "bytes" is the receiver's.
mkdir traces
for rank in 0 1; do
    op=Send bytes=8192
    [[ $rank == 1 ]] && op=Recv bytes=4096
    cat >traces/specter_trace_rank$rank.jsonl <<END
{"event":"init","version":1,"run":"r","rank":$rank,"world_size":2,"host":"h","mono_ns":1000,"real_ns":1000,"coverage":["nccl"],"gpus":[]}
{"id":0,"type":"nccl","op":"$op","bytes":$bytes,"dtype":"int8","comm":"c","comm_rank":$rank,"comm_size":2,"seq":null,"peer":$((1 - rank)),"p2p_seq":0,"start_us":10.0,"duration_us":null,"device":0,"stream":1,"tid":0,"host_us":5.0,"host_end_us":6.0,"timing":"none"}
{"event":"clock","device":0,"dev_us":3000000.0,"mono_ns":3000001000,"real_ns":3000001000,"err_ns":0}
END
done
"$SPECTER" analyze --full traces --json out.json >out.txt 2>/dev/null
awk '/"hangs":/ { on = 1 } /"coverage":/ { on = 0 } on && /"(cause|text|op|bytes|sender|receiver|instead)":/' out.json
