# SPDX-License-Identifier: MIT
"""Runs a training program so that PyTorch's profiler also writes an execution trace.

    run_traced.py [--execution-trace DIR] -m MODULE ARGUMENT...
    run_traced.py [--execution-trace DIR] PROGRAM.py ARGUMENT...

The first window that torch.profiler records goes to DIR/torch_et_<rank>.json, too: programs such as TorchTitan have
no option for it. The program is otherwise as if Python had started it.
"""

import os
import runpy
import sys


def observe(folder):
    import torch.profiler

    kinds = [getattr(torch.profiler, name, None) for name in ("ExecutionTraceObserver", "ExecutionGraphObserver")]
    kind = next((kind for kind in kinds if kind is not None), None)
    if kind is None:
        print(f"run_traced.py: PyTorch {torch.__version__} writes no execution traces", file=sys.stderr)
        return
    path = os.path.join(folder, f"torch_et_{os.environ.get('RANK', '0')}.json")

    class Observed(torch.profiler.profile):
        window = None  # of the first profiler alone: a file holds one

        def start_trace(self):
            if Observed.window is None:
                Observed.window = kind()
                Observed.window.register_callback(path)
                Observed.window.start()
            super().start_trace()

        def stop_trace(self):
            super().stop_trace()
            if Observed.window:
                Observed.window.stop()
                Observed.window.unregister_callback()
                Observed.window = False

    torch.profiler.profile = Observed


def main():
    arguments = sys.argv[1:]
    if len(arguments) > 1 and arguments[0] == "--execution-trace":
        observe(arguments[1])
        arguments = arguments[2:]
    if len(arguments) > 1 and arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
