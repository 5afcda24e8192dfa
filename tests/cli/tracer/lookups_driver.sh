# Functions of the driver and of RCCL that a program fetches with dlsym(): seen, and as without a tracer.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
same driver
check driver.d/*
ops driver.d/*.jsonl kind bytes timing
grep -o '"launches":[0-9]*,"classes":{[^}]*}' driver.d/*.jsonl
export LD_LIBRARY_PATH=$BUILD/emu/rocm/lib
same rccl
check rccl.d/*
ops rccl.d/*.jsonl op count timing
grep -o '"coverage":[^]]*]' rccl.d/*.jsonl
