# The whole tracer under a sanitizer, in a program that is not: its run time has to be preloaded in
# front. Only SAN builds have the library.
library=$BUILD/libspecter-san.so
[[ -e $library ]] || { echo "only in a build with SAN=address,undefined or SAN=thread"; exit 77; }
kind=asan
grep -q __tsan_init "$library" && kind=tsan
runtime=$($CC -print-file-name="libclang_rt.$kind-$(uname -m).so")
[[ $runtime == /* ]] || runtime=$($CC -print-file-name=lib$kind.so)
[[ $runtime == /* && -e $runtime ]] || { echo "no shared run time of $kind for $CC"; exit 77; }
mkdir traces
LD_PRELOAD="$runtime $library" SPECTER_OUTPUT=$PWD/traces LD_LIBRARY_PATH=$BUILD/emu/lib \
    ASAN_OPTIONS=detect_leaks=0 "$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" --tp 2 \
    --iters 2 --layers 2 --hidden 64 --tokens 64 >out 2>err || echo "status $?"
head -n 30 err
tail -q -n 1 traces/*.jsonl | grep -c '"event":"shutdown".*"dropped":0'
