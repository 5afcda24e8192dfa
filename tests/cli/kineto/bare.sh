# SPDX-License-Identifier: MIT
# Files that hold only what a viewer needs: no args, no calls that launch. The recording is then that
# of the GPU's work, also where one call (that waits) is there.
mkdir bare
cat >bare/trace.json <<'END'
{"traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "ampere_sgemm", "ts": 0, "dur": 100, "tid": 7},
 {"ph": "X", "cat": "kernel", "name": "flash_fwd", "ts": 150, "dur": 50, "tid": 7},
 {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH", "ts": 210, "dur": 20, "tid": 8},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 0, "dur": 1},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "ts": 230, "dur": 5}]}
END
"$SPECTER" analyze bare 2>&1
"$SPECTER" analyze bare --format csv --table top 2>/dev/null | cut -d, -f1-5
