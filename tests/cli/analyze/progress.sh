# SPDX-License-Identifier: MIT
# While a long trace is loaded there is a bar with bytes, speed and time left; on a terminal alone,
# and not for what is loaded at once.
command -v script >/dev/null || { echo "no script"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export TERM=xterm
on_terminal() {
    script -qec "$* 2>&1 >/dev/null" /dev/null </dev/null
}
mkdir long short
python3 - <<'END'
import gzip
head = b'{"event":"init","version":1,"run":"r","rank":0,"world_size":1,"mono_ns":1,"real_ns":1}\n'
head += b'{"event":"shutdown","time_us":5.000,"total_ops":0,"dropped":0}\n'
op = (b'{"id":1,"type":"nccl","op":"AllReduce","start_us":1.000,"duration_us":2.000,"bytes":8,'
      b'"count":4,"dtype":"bf16","comm":null,"timing":"device"}\n')
idle = gzip.compress(b'#' * 1000 + b'\n' + b'# nothing\n' * 1600000)
open('short/specter_trace_rank0.jsonl', 'wb').write(head + op)
with open('long/specter_trace_rank0.jsonl.gz', 'wb') as f:
    f.write(gzip.compress(head + op))
    for _ in range(80):
        f.write(idle)
END
on_terminal "$SPECTER" analyze --full long >bar
sed 's/\x1b\[[0-9;]*[mK]//g' bar |
    grep -q '\[=* *\] [0-9.]* [kMG]B of [0-9.]* MB  [0-9]* MB/s  ETA [0-9]*:[0-9]*:[0-9]*' || cat -v bar
grep -qF $'\r\033[K' bar || echo "the bar stays"
grep -qF $'\033[32m' bar || echo "no color"
NO_COLOR=1 on_terminal "$SPECTER" analyze --full long | grep -qF $'\033[32m' && echo "NO_COLOR does nothing"
"$SPECTER" analyze --full long 2>&1 >/dev/null | grep -q 'MB/s' && echo "a bar in a pipe"
on_terminal "$SPECTER" analyze --full short | grep -q 'MB/s' && echo "a bar for nothing"
exit 0
