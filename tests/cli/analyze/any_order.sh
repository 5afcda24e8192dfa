# SPDX-License-Identifier: MIT
# The answer is the same whatever order an archive has the ranks' files in: of pipelines beside each
# other, each with a communicator of its own.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
. "$ROOT"/tests/cli/scaling/common.bash
work=$PWD
capture h100 pp 8
cd "$trace" || exit
tar -cf "$work"/forward.tar -- *.jsonl
# shellcheck disable=SC2046
tar -cf "$work"/back.tar -- $(ls -r -- *.jsonl)
cd "$work" || exit
for input in "$trace" forward.tar back.tar; do
    "$SPECTER" analyze "$input" --format csv 2>/dev/null >"${input##*/}.csv"
done
"$SPECTER" analyze back.tar --table bubble --format csv 2>/dev/null | grep -o '^[01],"[^"]*"'
cmp "${trace##*/}.csv" forward.tar.csv && cmp forward.tar.csv back.tar.csv && echo "the same"

# Collectives of two communicators that begin at the same time.
mkdir pairs
for rank in 0 1 2 3; do
    comm=$((rank % 2))
    {
        echo '{"event":"init","version":1,"run":"x","rank":'$rank',"world_size":4,"pid":'$rank',"host":"n","mono_ns":1000,"real_ns":1700000000000000000,"coverage":["nccl"]}'
        echo '{"event":"comm","time_us":0.0,"comm":"c'$comm'","comm_rank":'$((rank / 2))',"comm_size":2,"device":0}'
        echo '{"id":0,"type":"nccl","op":"AllReduce","start_us":10.0,"duration_us":5'$rank'.0,"bytes":1024,"count":256,"dtype":"fp32","comm":"c'$comm'","comm_rank":'$((rank / 2))',"comm_size":2,"seq":0,"device":0,"stream":0,"tid":0,"host_us":5.0,"host_end_us":6.0,"timing":"device"}'
        echo '{"event":"shutdown","time_us":100.0,"total_ops":1,"dropped":0}'
    } >pairs/specter_trace_rank$rank.jsonl
done
(cd pairs && tar -cf ../pairs.tar specter_trace_rank{3,2,1,0}.jsonl)
for input in pairs pairs.tar; do
    "$SPECTER" analyze $input --table collective_instances --format csv 2>/dev/null | cut -d, -f1-3
done
for input in pairs pairs.tar; do
    "$SPECTER" replay $input --from-gpu h100_sxm --scale 1 --json - 2>/dev/null | tr -d ' \t\n' |
        grep -o '"communicators":\[[^]]*' | grep -o '"comm":"[^"]*"' | tr '\n' ' '
done
echo
