# torchrun with two processes and gloo on the loopback interface.
prepare() {
    need_python torch
    cat >ranks.py <<'PY'
import os, torch, torch.distributed as dist

dist.init_process_group("gloo")
value = torch.full((4,), float(dist.get_rank() + 1))
dist.all_reduce(value)
gathered = [None, None]
dist.all_gather_object(gathered, dist.get_rank() * 10)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1, bias=False))
model(value).sum().backward()
# In one piece: the ranks share a file.
os.write(1, b"%d %s %s %s\n" % (dist.get_rank(), str(value.tolist()).encode(), str(gathered).encode(),
                                str(model.module.weight.grad.tolist()).encode()))
dist.barrier()
dist.destroy_process_group()
PY
}

program() {
    GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 python -m torch.distributed.run --nproc-per-node 2 --rdzv-backend c10d \
        --rdzv-endpoint 127.0.0.1:0 --local-addr 127.0.0.1 "$MADE/ranks.py" >out
    echo "status $?"
    sort out
}
# Names of temporary folders; which rank writes first.
normalize() {
    sed -E 's,/(none|torchelastic)_[a-z0-9_]+,/\1,g; /run\/out$/s/^[0-9]+//' |
        if [[ $1 == processes ]]; then descriptor_kinds; else cat; fi
}
