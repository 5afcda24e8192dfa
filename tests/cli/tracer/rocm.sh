# RCCL and HIP: its own calls once each, not the messages that they make of themselves; AlltoAllv with
# what this rank sends; device times from HIP's events; nothing said of what is not looked at there.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
export LD_LIBRARY_PATH=$BUILD/emu/rocm/lib
traced out "$BUILD/tracer/rccl_calls" || exit 1
check out/*
ops out/*.jsonl op bytes count dtype redop comm_rank comm_size seq peer p2p_seq inplace device stream group timing
ops out/*.jsonl duration_us | awk '$2 < 1000 { print "shorter than its work: " $2 }'
grep -o -e '"coverage":[^]]*]' -e '"nccl":2[0-9]*,"cuda":[^,]*' -e '"gpus":[^]]*]' out/*.jsonl
SPECTER_SYNC=1 traced sync "$BUILD/tracer/rccl_calls" || exit 1
check sync/*
ops sync/*.jsonl timing | sort | uniq -c
# Without HIP's runtime there is no device time, and all else.
cat >none.c <<'C'
int hipGetDevice(int *device) { *device = 0; return 0; }
C
"${CC:-cc}" -shared -fPIC -o libamdhip64.so.6 -Wl,-soname,libamdhip64.so.6 none.c || exit 1
cat >stub.c <<'C'
int hipSetDevice(int d) { (void)d; return 0; }
int hipStreamCreateWithFlags(void **s, unsigned f) { static char stream[8]; (void)f; *s = stream; return 0; }
int hipStreamSynchronize(void *s) { (void)s; return 0; }
void emuHipWork(void *s, unsigned long ns) { (void)s, (void)ns; }
C
"${CC:-cc}" -shared -fPIC -o libstub.so stub.c || exit 1
export LD_LIBRARY_PATH=$PWD:$LD_LIBRARY_PATH PRELOAD="$PRELOAD $PWD/libstub.so"
traced none "$BUILD/tracer/rccl_calls" || exit 1
check none/*
ops none/*.jsonl timing | sort | uniq -c
