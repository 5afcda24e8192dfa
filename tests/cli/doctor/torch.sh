# The GPU libraries that `import torch` would load, by the run paths of its files (a RPATH goes before LD_LIBRARY_PATH, a
# RUNPATH behind it), each with the version of the package that lists it; nothing is imported. By name, by a link of a
# virtual environment, and by a script for it.
. "$ROOT/tests/cli/doctor/common.bash"
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir -p site/torch/lib site/nvidia/nccl/lib site/nvidia/cu13/lib site/torch-2.11.0.dist-info other
printf 'raise SystemExit("imported")\n' >site/torch/__init__.py
printf 'Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0+cu130\n' >site/torch-2.11.0.dist-info/METADATA
# package NAME VERSION FILE SONAME: a wheel that brings a library
package() {
    "$cc" -shared -fPIC -Wl,-soname,"$4" -o "site/$3" -xc - <<<"int of_$1(void) { return 0; }" || exit 1
    mkdir "site/nvidia_$1-$2.dist-info"
    printf 'nvidia/include/a.h,sha256=x,1\n%s,sha256=x,2\n' "$3" >"site/nvidia_$1-$2.dist-info/RECORD"
}
package nccl_cu13 2.28.9 nvidia/nccl/lib/libnccl.so.2 libnccl.so.2
package cublas 99.1.0.3 nvidia/cu13/lib/libcublas.so.99 libcublas.so.99
package cuda_runtime 13.0.96 nvidia/cu13/lib/libcudart.so.13 libcudart.so.13
cp site/nvidia/nccl/lib/libnccl.so.2 other/
# torch TAGS: its files, with run paths of that kind
torch() {
    local dirs='$ORIGIN/../../nvidia/nccl/lib:$ORIGIN/../../nvidia/cu13/lib'
    "$cc" -shared -fPIC -Wl,--no-as-needed $1 -Wl,-rpath,"$dirs" -o site/torch/lib/libtorch_cuda.so -xc - -xnone \
        site/nvidia/*/lib/lib*.so.* <<<'int torch;' &&
        "$cc" -shared -fPIC -Wl,--no-as-needed $1 -Wl,-rpath,'$ORIGIN/lib' -o site/torch/_C.cpython-312.so -xc - -xnone \
            site/torch/lib/libtorch_cuda.so <<<'int module;' || exit 1
}
export PYTHONPATH=$PWD/site LD_LIBRARY_PATH=$PWD/other PYTHONDONTWRITEBYTECODE=1
checks='torch|nccl|cublas|cudart|needs'
torch -Wl,--disable-new-dtags
doctor "$checks" -- python3 -c 'import torch'
torch -Wl,--enable-new-dtags
# an environment of its own, which the file behind its link knows nothing of
read -r python version < <(python3 -c 'import sys; print(sys.executable, "python%d.%d" % sys.version_info[:2])')
mkdir -p env/bin env/lib/$version
ln -s "$python" env/bin/python3
ln -s "$PWD/site" env/lib/$version/site-packages
echo "home = ${python%/*}" >env/pyvenv.cfg
printf '#!%s/env/bin/python3\n' "$PWD" >env/bin/torchrun && chmod +x env/bin/torchrun
unset PYTHONPATH
doctor nccl -- env/bin/python3 | grep other
doctor nccl -- env/bin/torchrun | grep other
rm site/nvidia/cu13/lib/libcublas.so.99
doctor 'needs|cublas' -- env/bin/torchrun
echo --- none
rm site/torch/_C.*
doctor "$checks" -- env/bin/python3
