# SPDX-License-Identifier: MIT
# Names that are no UTF-8, a pipe, a folder called as a file, links in a circle, and a file that may
# not be read: the rest is read, and what is printed stays text.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir -p traces/rank9.json
trace() {
    echo "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":$1,\"world_size\":2,\"mono_ns\":5,\"real_ns\":6}"
    echo "{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":1.000,\"duration_us\":2.000,\"bytes\":8,\"comm\":\"w\",\"comm_rank\":$1,\"comm_size\":2,\"seq\":0,\"timing\":\"device\"}"
    echo '{"event":"shutdown","time_us":9.000,"dropped":0}'
}
trace 0 >traces/$'sp\xff\xfe\033[31mecter_0.jsonl'
trace 1 >traces/b.jsonl
{ trace 1; echo '{"broken'; echo '{"broken'; } >traces/$'\xc3(.jsonl'
mkfifo traces/pipe.json
ln -s . traces/self
ln -s ../traces traces/up
timeout 20 "$SPECTER" analyze --full traces --json - >out.json 2>err
echo "status $?"
grep -o "1 file here is no traces .*pipe.json'" err
python3 - <<'END'
import json
doc = json.loads(open('out.json', 'rb').read().decode('utf-8'))
print(doc['schema'])
err = open('err', 'rb').read()
print('escape in a message' if b'\033' in err else 'no escape')
END
