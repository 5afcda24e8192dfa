# Claims of the GPU suite about several ranks, with one thing wrong each time.
. "$(dirname "$0")/claims.bash"
good good
well='"coverage": {"incomplete_collectives": 0, "inconsistent_collectives": 0, "unmatched_ops": 0}'
late='"stragglers": [{"rank": 1, "origin_wait_us": 9000}, {"rank": 0, "origin_wait_us": 10}]'
rule='{"rule": "straggler", "text": "rank 1 is late"}'
echo "{$well, \"hangs\": [], \"findings\": [], \"stragglers\": []}" >well.json
echo "{$well, \"hangs\": [{}], \"findings\": [], \"stragglers\": []}" >hangs.json
echo "{${well/ 0/ 3}, \"hangs\": [], \"findings\": [], \"stragglers\": []}" >unmatched.json
echo "{$well, \"hangs\": [], \"findings\": [$rule], $late}" >late.json
ask ranks good 2 well.json
ask ranks good 3 well.json
ask ranks good 2 hangs.json
ask ranks good 2 unmatched.json
change good other '"bytes":4096' '"bytes":2048' && ask ranks other 2 well.json
change good missing '"seq":2,"timing' '"seq":null,"timing' && ask ranks missing 2 well.json
change good open '"seq":2,"timing":"device"' '"seq":2,"timing":"none"' && ask ranks open 2 well.json

message='{"id":7,"type":"nccl","op":"OP","start_us":300,"duration_us":9,"bytes":64,"dtype":"fp32","comm":"good","comm_rank":ME,"peer":YOU,"p2p_seq":0,"seq":null,"timing":"device"}'
cp -r good told
sed 's/OP/Send/; s/ME/0/; s/YOU/1/' <<<"$message" >>told/specter_trace_rank0.jsonl
ask ranks told 2 well.json
sed 's/OP/Recv/; s/ME/1/; s/YOU/0/' <<<"$message" >>told/specter_trace_rank1.jsonl
ask ranks told 2 well.json

echo '{"rank": 1, "step_us": [2000, 2000, 2000, 2000, 2000]}' >late.run
ask late late.json 1 2000 5 late.run
ask late late.json 0 2000 5 late.run
ask late late.json 1 20000 5 late.run
ask late late.json 1 2000 4 late.run
ask late well.json 1 2000 5 late.run

good plain
ask plugin good plain
change good mute '"algo":"RING","proto":"SIMPLE"' '"algo":null,"proto":null' && ask plugin mute plain
change good thin '"channels":1' '"channels":null' && ask plugin thin plain
change good changed '"m":8' '"m":9' && ask plugin changed plain
mkdir none && ask plugin good none

for rank in 0 1; do
    for call in 'AllReduce 1 4 null' 'AllReduce 1024 4096 null' 'Broadcast 16 64 0'; do
        read -r op count bytes root <<<"$call"
        echo "{\"op\": \"$op\", \"count\": $count, \"bytes\": $bytes, \"dtype\": \"fp32\", \"root\": $root}"
    done >made.$rank
done
ask calls good made
sed -i 1d made.0 && ask calls good made
rm made.1 && ask calls good made
