# Under torchrun the workers write a file each; the launcher, which loads the library too, writes none.
# The workers' calls come from a C extension, as PyTorch's do.
python=/usr/bin/python3
"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null ||
    { echo "no PyTorch for $python"; exit 77; }
cat >script.py <<'P'
import ctypes, os, sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
total = torch.ones(4)
dist.all_reduce(total)
extension = ctypes.CDLL(sys.argv[1])
for status in (extension.ext_init(rank, world, sys.argv[2].encode()),
               extension.ext_gemm(64, 32, 16),
               extension.ext_allreduce(1024),
               extension.ext_allreduce(2048),
               extension.ext_done()):
    assert status == 0, status
print("sum", total.sum().item())
P
# -r and -t: without them torch 1.13 fails under Python 3.11. The launcher prints each worker's lines from a thread
# of its own, so that two lines can mix: the workers' own logs are read instead.
LD_LIBRARY_PATH=$BUILD/emu/lib OMP_NUM_THREADS=1 "$SPECTER" capture -o traces -- \
    "$python" -m torch.distributed.run --nproc_per_node=2 --master_port=$((20000 + RANDOM % 20000)) \
    -r 1 -t 1 --log_dir logs script.py "$BUILD/emu/libemuext.so" "$PWD/id" >out 2>err ||
    { echo "status $?"; cat err; }
cat logs/*/attempt_0/[01]/stdout.log
tail -n 1 err
ls traces
for rank in 0 1; do
    grep -o '"op":"AllReduce".*"seq":[0-9]*' traces/specter_trace_rank$rank.jsonl |
        sed 's/.*"bytes":\([0-9]*\).*"seq":\([0-9]*\)/AllReduce \1 bytes, seq \2/'
    grep -o '"m":[0-9]*,"n":[0-9]*,"k":[0-9]*' traces/specter_trace_rank$rank.jsonl
done
