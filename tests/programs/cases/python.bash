# Python: processes by fork and by spawn, subprocess, threads, asyncio, ctypes, a signal, atexit.
prepare() {
    need_python ctypes multiprocessing
    cat >small.py <<'PY'
import asyncio, atexit, ctypes, multiprocessing, os, signal, subprocess, sys, threading
from concurrent.futures import ProcessPoolExecutor

def square(x):
    return x * x

async def shell():
    child = await asyncio.create_subprocess_shell("echo async; exit 4", stdout=subprocess.PIPE)
    out, _ = await child.communicate()
    return out, child.returncode

if __name__ == "__main__":
    atexit.register(print, "atexit", flush=True)
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            print(method, list(pool.map(square, range(6))), flush=True)
    print(subprocess.run(["sh", "-c", "cat; exit 3"], input=b"in\n", stdout=subprocess.PIPE))
    results = []
    threads = [threading.Thread(target=lambda i=i: results.append(i)) for i in range(5)]
    [t.start() for t in threads], [t.join() for t in threads]
    print(sorted(results), asyncio.run(shell()))
    print(ctypes.CDLL(None).getpid() == os.getpid(), ctypes.CDLL("libc.so.6").abs(-3))
    try:
        ctypes.CDLL(None).ncclAllReduce
    except AttributeError:
        print("no NCCL here")
    signal.signal(signal.SIGUSR1, lambda *_: print("signal", flush=True))
    os.kill(os.getpid(), signal.SIGUSR1)
    sys.exit(5)
PY
}

program() {
    python "$MADE/small.py"
    echo "status $?"
}
