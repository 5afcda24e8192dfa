# The archive for a GPU machine: under 20 MB, nothing needed that is not in it or libc's, and it runs from any
# folder without the repository, a compiler, make or git.
archive=$BUILD/gpu-bundle.tar.gz
[[ -e $archive ]] || { echo "a sanitized build makes no bundle"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
(($(stat -c %s "$archive") < 20000000)) || echo "20 MB or more"
mkdir elsewhere
tar -xzf "$archive" -C elsewhere
mv elsewhere/gpu-bundle elsewhere/b
bundle=$PWD/elsewhere/b

say() { echo "$*"; }
cd "$ROOT" && . scripts/old-glibc.bash && cd - >/dev/null
GLIBC=2.39 # Ubuntu 24.04
find "$bundle/build" -type f | while read -r file; do
    readelf -h "$file" >/dev/null 2>&1 || continue
    check_glibc "$file"
    readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r need; do
        case $need in
        libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux-*) ;;
        *) [[ -e $bundle/build/lib/$need || -e $bundle/build/emu/lib/$need ]] || echo "${file#"$bundle"/} needs $need" ;;
        esac
    done
    ! readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -v '\[$ORIGIN/lib\]' | sed "s|^|${file#"$bundle"/}: |"
done
(cd "$bundle/tests/gpu" && for file in *.py; do # workload.py's PyTorch is not in the bundle
    [[ $file == workload.py ]] || python3 -B -c "import ${file%.py}" || echo "$file does not find what it needs"
done)
grep -rl "$ROOT" "$bundle/build/flags" "$bundle/COMMIT" "$bundle/tests"

# All of this machine's programs but those that a GPU machine may lack.
mkdir bin
find -L /bin /usr/bin -maxdepth 1 -type f -executable -exec ln -sf -t bin {} + 2>/dev/null
ln -sf "$(python3 -c 'import sys; print(sys.executable)')" bin/python3
rm -f bin/{cc,c++,c99,c89,make,gmake,as,ld,git*,gcc*,g++*,clang*,*-gcc*,nvidia-smi}
bare() { env -i PATH="$PWD/bin" HOME="$PWD" TMPDIR="$PWD" SPECTER_GPU="$PWD/kept" PYTHONDONTWRITEBYTECODE=1 "$@"; }
bare cc --version 2>/dev/null && echo "there is a compiler"
bare "$bundle/build/specter" --version | head -n 1
bare PYTHONPATH="$bundle/tests/gpu" python3 -c '
import kineto
print("classes of kernels are known:", len(kineto.WORDS) > 20)'
bare "$bundle/run-all.sh" -o results no_context
echo "without a GPU: ${PIPESTATUS[0]}"

# With what says that there is a GPU, over the stand-ins.
printf '#!/bin/sh\necho "Stand-in GPU"\n' >bin/nvidia-smi
printf '#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec python3 "$@"\n' >bin/python
chmod +x bin/nvidia-smi bin/python
over() { bare PYTHON="$PWD/bin/python" LD_LIBRARY_PATH="$bundle/build/emu/lib" EMU_DIR="$PWD" "$@"; }
over "$bundle/build/specter" capture -o trace -- "$bundle/examples/launch.sh" -n 2 "$bundle/build/examples/train" \
    --iters 2 2>&1
over "$bundle/build/specter" analyze trace | sed -n 1p
over "$bundle/run-all.sh" -o results no_context >said
echo "status $?"
grep -x 'passed no_context' said
tar -tzf results/results.tar.gz | sed 's|^\./||' | grep -E 'report.md|no_context.verdict' | sort
grep -q "$(cat "$bundle/COMMIT")" results/report.md || echo "the report does not tell the commit"

# Of several Pythons on PATH, the first that has PyTorch.
mkdir first second
printf '#!/bin/sh\nexit 1\n' >first/python3
printf '#!/bin/sh\n[ "$1" = -c ] && exit 0\nexec %s "$@"\n' "$PWD/bin/python3" >second/python3
chmod +x {first,second}/python3
bare PATH="$PWD/first:$PWD/second:$PWD/bin" LD_LIBRARY_PATH="$bundle/build/emu/lib" EMU_DIR="$PWD" \
    "$bundle/run-all.sh" -o results no_context | head -n 1

# The script beside the archive unpacks it first.
mkdir beside && cp "$archive" "$bundle/run-all.sh" beside
bare beside/run-all.sh -o results no_context | sed "s, (.*,,"
echo "without a GPU: ${PIPESTATUS[0]}"
