# Doctor names what earlier traces could not see.
. "$ROOT/tests/cli/doctor/common.bash"
mkdir traces
init='{"event":"init","version":1,"run":"r","rank":0,"host":"h","real_ns":1}'
end() { echo "{\"event\":\"shutdown\",\"time_us\":1.000,\"total_ops\":1,\"dropped\":0,\"summary\":{\"unseen\":[$1]}}"; }
{ echo "$init"; end ''; } >traces/specter_trace_rank0.jsonl
doctor traces
{ echo "$init"; end '{"kind":"static","path":"/opt/app"},{"kind":"namespace","path":"/lib/libnccl.so.2"}'; } >traces/specter_trace_rank1.jsonl
{ echo "$init"; end '{"kind":"uncalled","path":"/opt/a b.so"},{"kind":"static","path":"/opt/app"},{"kind":"new","path":"/x"}'; } >traces/specter_trace_rank2.jsonl
doctor traces
