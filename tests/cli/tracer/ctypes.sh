# Python by ctypes: the calls and their times are those of the same steps in C.
. "$ROOT/tests/cli/tracer/common.bash"
python=/usr/bin/python3
[[ -x $python ]] && $python -c 'import ctypes' 2>/dev/null || { echo "no $python with ctypes"; exit 77; }
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "Python is not built for a sanitizer"; exit 77; }
cat >steps.py <<'P'
import ctypes as C

cuda, blas, nccl = (C.CDLL(n) for n in ("libcudart.so.13", "libcublas.so.13", "libnccl.so.2"))
memory = (C.c_float * 16384)()
at = lambda n: C.c_void_p(C.addressof(memory) + 4 * n)
a, b, c = at(0), at(4096), at(8192)
one, zero = C.byref(C.c_float(1)), C.byref(C.c_float(0))
stream, event, handle, comm = (C.c_void_p() for _ in range(4))

class UniqueId(C.Structure):
    _fields_ = [("bytes", C.c_byte * 128)]

def ok(result):
    assert result == 0, result

ok(cuda.cudaSetDevice(0))
ok(cuda.cudaStreamCreateWithFlags(C.byref(stream), 1))
ok(cuda.cudaEventCreate(C.byref(event)))
ok(blas.cublasCreate_v2(C.byref(handle)))
ok(blas.cublasSetStream_v2(handle, stream))
unique = UniqueId()
ok(nccl.ncclGetUniqueId(C.byref(unique)))
ok(nccl.ncclCommInitRank(C.byref(comm), 1, unique, 0))
for i in range(3):
    ok(blas.cublasGemmEx(handle, 0, 1, 64, 32, 16, one, a, 2, 64, b, 2, 32, zero, c, 2, 64, 68, -1))
    ok(blas.cublasSgemm_v2(handle, 0, 0, 16, 16, 16, one, a, 16, b, 16, one, c, 16))
    ok(cuda.cudaEventRecord(event, stream))
    ok(nccl.ncclAllReduce(a, b, C.c_size_t(1000), 6, 0, comm, stream))
    ok(nccl.ncclGroupStart())
    ok(nccl.ncclSend(a, C.c_size_t(16), 2, 0, comm, stream))
    ok(nccl.ncclRecv(b, C.c_size_t(16), 2, 0, comm, stream))
    ok(nccl.ncclGroupEnd())
    ok(cuda.cudaStreamSynchronize(stream))
ok(nccl.ncclCommDestroy(comm))
P
traced linked "$BUILD/tracer/steps" || exit 1
traced python $python steps.py || exit 1
check python/*
for way in linked python; do
    grep -v '"event":"\(init\|clock\|shutdown\)"' $way/*.jsonl | sort >$way.records
done
cmp linked.records python.records || diff linked.records python.records | head -n 4
[[ $(wc -l <python.records) -gt 20 ]] || fail "only $(wc -l <python.records) records"
