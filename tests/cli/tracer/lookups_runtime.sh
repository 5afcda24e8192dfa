# A library with a CUDA runtime of its own, which has the driver's functions from cuGetProcAddress:
# its launches, copies and graphs are seen, kernels by class whether they are of a module or of a
# library, however it asks; those of NCCL, cuBLAS and of other CUDA runtimes are not.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
LIBRARY=$BUILD/tracer/libruntime.so

# seen DIR: what its trace says was launched.
seen() {
    check "$1"/* || exit 1
    sed -n 's/.*\("launches":[0-9]*,"classes":{[^}]*}\).*"stream":\([0-9]*\).*/\1 stream \2/p' "$1"/*.jsonl | LC_ALL=C sort
}

same runtime "$LIBRARY" plain
seen runtime.d
ops runtime.d/*.jsonl kind bytes
grep -o '"coverage":[^]]*]' runtime.d/*.jsonl
for scenario in old newer again fork; do
    traced $scenario "$LOOKUPS" runtime "$LIBRARY" $scenario || fail "$scenario: status $?"
    diff <(seen runtime.d) <(seen $scenario) || fail "$scenario: other launches"
done
traced capture "$LOOKUPS" runtime "$LIBRARY" capture || fail "capture: status $?"
check capture/*
grep '"untraced"' capture/*.jsonl | grep -o '"launches":[0-9]*\|"graph":[0-9]*'
ops capture/*.jsonl type graph launch
traced threads "$LOOKUPS" runtime "$LIBRARY" threads || fail "threads: status $?"
seen threads | sort | uniq -c
# A library that is left out leaves no trace at all.
mkdir others
for name in libnccl.so.2 libcublas.so.13 libcublasLt.so.13 libcudart.so.13 libcudart-0123abcd.so.13 libcupti.so.13; do
    cp "$LIBRARY" others/$name
    traced "$name.d" "$LOOKUPS" runtime "$PWD/others/$name" plain || fail "$name: status $?"
    [[ ! -e $name.d ]] || fail "$name: launches are counted"
done
cp "$LIBRARY" others/libcudnn_graph.so.9
traced cudnn "$LOOKUPS" runtime "$PWD/others/libcudnn_graph.so.9" plain || fail "cudnn: status $?"
diff <(seen runtime.d) <(seen cudnn) || fail "cudnn: other launches"
# Switched off.
SPECTER_NO_DLSYM=1 traced off "$LOOKUPS" runtime "$LIBRARY" plain || fail "off: status $?"
[[ ! -e off ]] || fail "SPECTER_NO_DLSYM changes nothing"
SPECTER_NO_LAUNCHES=1 traced few "$LOOKUPS" runtime "$LIBRARY" plain || fail "few: status $?"
seen few
ops few/*.jsonl kind bytes
grep -o '"coverage":[^]]*]' few/*.jsonl
