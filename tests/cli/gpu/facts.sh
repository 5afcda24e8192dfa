# Real libraries beside the stand-ins, with copies of the stand-ins in the place of the real ones: as they
# are nothing differs; one that calls an error otherwise differs in that, which fails unless it is known as
# not imitated; one that is not there agrees in nothing.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
FACTS=$ROOT/tests/gpu/facts.py
ask() {
    python3 "$FACTS" "$BUILD/tests/gpu/facts" --stand-ins "$BUILD/emu/lib" "$@" 2>&1
    echo "status $?"
}

echo '-- the same'
cp -R "$BUILD/emu/lib" real
ask --real real --table all.tsv event.unrecorded argument.cuda
sed -n 1,3p all.tsv

echo '-- one text differs'
sed -i 's/device not ready/device is not so/' real/libcudart.so.13
ask --real real --no-device error.cuda argument.cuda

echo '-- known as not imitated'
awk -F'\t' -v OFS='\t' '$1 == "error.cuda.600" { $3 = "not imitated"; $4 = "a text of our own" } 1' \
    "$ROOT/tests/gpu/facts/known.tsv" >known.tsv
ask --real real --no-device --known known.tsv error.cuda argument.cuda


echo '-- no library'
mkdir none
for name in cuda.so.1 {cudart,cublas,cublasLt}.so{,.12,.13} nccl.so.2; do : >"none/lib$name"; done
ask --real none --no-device argument.cuda
