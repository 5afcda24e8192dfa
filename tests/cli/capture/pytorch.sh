# A few training steps of PyTorch whose data come from forked workers, with calls from a C extension
# between them and in threads: it prints and returns what it does untraced, and the only file is that of
# the process that made the calls.
python=/usr/bin/python3
"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null ||
    { echo "no PyTorch for $python"; exit 77; }
cat >train.py <<'P'
import ctypes, sys, threading
import torch

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return torch.arange(8, dtype=torch.float32) * (i + 1) / 64

def main():
    torch.manual_seed(1)
    torch.set_num_threads(2)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    extension = ctypes.CDLL(sys.argv[1])
    assert extension.ext_init(0, 1, b"id") == 0
    for epoch in range(2):
        # Workers are forked from this process, which is traced by then.
        for batch in torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2):
            optimizer.zero_grad()
            loss = ((model(batch) - batch.sum(1, keepdim=True)) ** 2).mean()
            loss.backward()
            optimizer.step()
            assert extension.ext_allreduce(256) == 0
        print("loss %.6f" % loss.item())
    results = []
    threads = [threading.Thread(target=lambda: results.append(extension.ext_gemm(64, 32, 16)))
               for _ in range(3)]
    for thread in threads:
        thread.start()
        thread.join()
    print(results, extension.ext_done())

main()
P
export LD_LIBRARY_PATH=$BUILD/emu/lib OMP_NUM_THREADS=2
"$python" train.py "$BUILD/emu/libemuext.so" >plain.out 2>plain.err || { cat plain.err; exit 1; }
rm -f id
"$SPECTER" capture -o traces -- "$python" train.py "$BUILD/emu/libemuext.so" >traced.out 2>traced.err ||
    echo "status $?"
cmp plain.out traced.out
sed '$d' traced.err | cmp plain.err -
ls traces | wc -l
sed '$d' traces/* | grep -o '"op":"[A-Za-z]*"' | sort | uniq -c
tail -n 1 traces/* | grep -o '"dropped":[0-9]*'
