# SPDX-License-Identifier: MIT
# A program built against the stand-ins finds every symbol in the real libraries, and then no device.
for dir in "${CUDA_HOME:-/usr/local/cuda}/lib64" /usr/lib/x86_64-linux-gnu; do
    [ -e "$dir/libcudart.so.13" ] && [ -e "$dir/libnccl.so.2" ] && real=$dir && break
done
[ -n "${real:-}" ] || { echo "no libraries of CUDA 13 and NCCL 2"; exit 77; }
LD_BIND_NOW=1 LD_LIBRARY_PATH=$real "$BUILD/examples/train" >said 2>&1
[ -s said ] || echo "it said nothing"
grep -E 'undefined symbol|no version information' said
exit 0
