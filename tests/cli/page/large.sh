# SPDX-License-Identifier: MIT
# A recording whose timeline would be larger than 5 MiB: the page has the median step of each rank, and says so.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir traces
python3 - <<'END'
# 4 ranks, 27 steps of 5,000 GEMMs of 10 us and an AllReduce; step k is k us longer, so that the median one is known.
for rank in range(4):
    out = open(f"traces/specter_trace_rank{rank}.jsonl", "w")
    out.write('{"event":"init","version":1,"run":"l","rank":%d,"world_size":4,"host":"h","mono_ns":1000,"real_ns":1000,'
              '"coverage":["nccl","cublas","deps","launches"],"gpus":[]}\n' % rank)
    out.write('{"event":"comm","time_us":0,"comm":"c","comm_rank":%d,"comm_size":4,"device":0}\n' % rank)
    at, n = 0.0, 0
    for step in range(27):
        out.write(f'{{"event":"mark","name":"step","kind":"iteration","time_us":{at:.1f}}}\n')
        for i in range(5001):
            base = f'"device":0,"tid":0,"host_us":{at:.3f},"host_end_us":{at:.3f},"timing":"device"'
            if i < 5000:
                out.write(f'{{"id":{n},"type":"cublas","op":"GemmEx","start_us":{at:.3f},"duration_us":9.876,"m":64,"n":64,"k":64,'
                          f'"batch":1,"dtype":"fp16","stream":1,{base}}}\n')
                at += 10
            else:
                out.write(f'{{"id":{n},"type":"nccl","op":"AllReduce","start_us":{at:.3f},"duration_us":{50 + step}.000,"bytes":1024,'
                          f'"count":512,"dtype":"fp16","comm":"c","comm_rank":{rank},"comm_size":4,"seq":{step},"stream":2,{base}}}\n')
                at += 60 + step
            n += 1
    out.write(f'{{"event":"mark","name":"step","kind":"iteration","time_us":{at:.1f}}}\n')
    out.write('{"event":"shutdown","time_us":%.1f,"total_ops":%d,"dropped":0}\n' % (at, n))
END
"$SPECTER" analyze traces --html page.html >/dev/null 2>&1
grep -o 'Timeline: [0-9]* operations on [0-9]* ranks in [^<]*' page.html
grep -o 'The recording is too large for a page[^<]*' page.html
[ "$(wc -c <page.html)" -lt 5000000 ] && echo "below 5 MB"
