# SPDX-License-Identifier: MIT
# The aarch64 tarball and wheel of `make release`, under qemu: the same libraries as on x86-64, the example recorded on
# the stand-ins (scripts/release.sh --stand-ins aarch64), analyzed, replayed; the wheel has the same programs.
shopt -s nullglob
tarball=("$ROOT"/build/release/specter-*-linux-aarch64.tar.gz)
wheel=("$ROOT"/build/release/specter-*-manylinux_*_aarch64.whl)
[[ ${#tarball[@]} == 1 && ${#wheel[@]} == 1 ]] || { echo "no aarch64 tarball and wheel of one make release"; exit 77; }
command -v qemu-aarch64 >/dev/null || { echo "no qemu-aarch64"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
sysroot=/usr/aarch64-linux-gnu
[[ -e $sysroot/lib/ld-linux-aarch64.so.1 ]] || { echo "no C library for aarch64 in $sysroot"; exit 77; }
qemu() { qemu-aarch64 -L "$sysroot" "$@"; }
here=$ROOT/build/release/x86_64/specter # has the same libraries
[[ -x $here ]] || { echo "no build/release/x86_64/specter"; exit 77; }

tar -xzf "${tarball[0]}"
tree=$(echo "$PWD"/specter-*-linux-aarch64)
specter=$tree/bin/specter
diff <(qemu "$specter" --version) <("$here" --version)
qemu "$specter" analyze "$TESTDATA/two_ranks" >analysis 2>&1
diff analysis <("$here" analyze "$TESTDATA/two_ranks" 2>&1)
predict=(predict collective --op all_reduce --bytes 64M --ranks 64)
diff <(qemu "$specter" "${predict[@]}" 2>&1) <("$here" "${predict[@]}" 2>&1)
grep -q 'SPECTER-CAPTURE 1' "$tree/share/man/man1/specter-capture.1" || echo "no manual"

# The kernel starts no program of another processor, so that the processes are started with what capture would set; the
# loader of qemu itself says that it cannot preload the library.
built=$ROOT/build/release/aarch64
if [[ -x $built/examples/train ]]; then
    (
        eval "$(qemu "$specter" capture -o traces --print-env)"
        LD_LIBRARY_PATH=$built/emu/lib "$ROOT/examples/launch.sh" -n 2 \
            "$(command -v qemu-aarch64)" -L "$sysroot" "$built/examples/train" --iters 3
    ) >log 2>&1
    [[ -s traces/specter_trace_rank1.jsonl ]] || { echo "nothing recorded:" && cat log; }
    qemu "$specter" analyze traces 2>&1 | grep -q '^2 ranks' || qemu "$specter" analyze traces
fi

python3 - "${wheel[0]}" "$tree" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        for inside, below in (("scripts", "bin/"), ("data", "")):
            mark = f".data/{inside}/"
            if mark in name and wheel.read(name) != open(f"{sys.argv[2]}/{below}{name.split(mark)[1]}", "rb").read():
                print("other bytes in the wheel:", name)
PY
