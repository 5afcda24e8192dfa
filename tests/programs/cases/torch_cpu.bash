# PyTorch with its CUDA libraries and without a driver: training, workers that load data, processes by
# spawn, what it says of CUDA and NCCL.
prepare() {
    need_python torch numpy
    cat >small.py <<'PY'
import os, sys, torch
import torch.multiprocessing as mp

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return torch.arange(8, dtype=torch.float32) * (i + 1) / 64

def child(rank, shared):
    shared[rank] = rank + 1

if __name__ == "__main__":
    print(torch.version.cuda, torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.nccl.version())
    try:
        torch.zeros(1, device="cuda")
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        for batch in torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2):
            optimizer.zero_grad()
            loss = ((model(batch) - batch.sum(1, keepdim=True)) ** 2).mean()
            loss.backward()
            optimizer.step()
        print("loss %.6f" % loss.item())
    shared = torch.zeros(1).share_memory_()
    mp.spawn(child, args=(shared,), nprocs=1)
    print(shared.tolist())
    sys.exit(5)
PY
}

program() {
    OMP_NUM_THREADS=2 python "$MADE/small.py"
    echo "status $?"
}
# Shared memory has the number of a process in its name; how much of it is open when a worker ends is
# chance.
normalize() {
    sed -E 's,/torch_[0-9]+_[0-9]+_[0-9]+,/torch_N,g' | if [[ $1 == processes ]]; then descriptor_kinds; else cat; fi
}
