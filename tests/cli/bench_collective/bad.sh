# SPDX-License-Identifier: MIT
# A failed measurement is one line with the way out.
. "$ROOT/tests/cli/bench_collective/common.bash"
try() {
    "$@" >out 2>err
    echo "$?: $(sed "s/port ${MASTER_PORT:-none}/port PORT/" err | grep -v '^specter: no --network')"
}
bench() {
    try "$SPECTER" bench collective "$@"
}
bench --op all_reduce,nothing
bench --backend magic
bench --backend gloo7
bench --dtype fp4
bench --redop avg
bench --bytes 1K --elements 5
bench --elements 0
bench --iters 0
bench --gpus 0
bench --timeout 0
bench stray
bench --lib ./none.so --gpus 1
bench -o /proc/none --gpus 1
export MASTER_PORT=$((20000 + RANDOM % 10000))
RANK=0 bench
RANK=1 WORLD_SIZE=2 bench
RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 bench --timeout 0.3
RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 bench --timeout 0.3
RANK=1 WORLD_SIZE=2 MASTER_ADDR=no.such.host.invalid bench --timeout 0.3
python3 -c '
import os, socket, subprocess, sys
s = socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"])))
r = subprocess.run([sys.argv[1], "bench", "collective", "--timeout", "1"], capture_output=True, text=True,
                   env=dict(os.environ, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1"))
print(r.returncode, r.stderr.replace(os.environ["MASTER_PORT"], "PORT"), end="")' "$SPECTER"
bench --gpus 1 --op all_reduce --elements 100,100000000000 --iters 1 --check 0
bench --gpus 2 --op all_reduce --elements 100 --iters 1 --json /dev/full
LD_LIBRARY_PATH= CUDA_HOME=/none bench --gpus 1
left_behind
exit 0
