# Which of several NCCLs a program loads: RPATH (its own and those of what needs it), LD_LIBRARY_PATH,
# RUNPATH, as the loader itself does it; plugins of NCCL are none, and RCCL is one.
. "$ROOT/tests/cli/doctor/common.bash"
echo 'int ncclAllReduce(void) { return 0; }' >nccl.c
echo 'int ncclAllReduce(void); int step(void) { return ncclAllReduce(); }' >step.c
echo 'int step(void); int main(void) { return step(); }' >main.c
mkdir env run deep amd
for dir in env run; do
    "$cc" -shared -fPIC -Wl,-soname,libnccl.so.2 -o $dir/libnccl.so.2 nccl.c || exit 1
done
"$cc" -shared -fPIC -o deep/libstep.so step.c run/libnccl.so.2
"$cc" -shared -fPIC -Wl,-soname,librccl.so.1 -o amd/librccl.so.1 nccl.c
"$cc" -shared -fPIC -o env/libnccl-net.so -xc - <<<'int net;'
cp env/libnccl-net.so env/libnccl-tuner.so

# first PROGRAM: the NCCL that doctor names and the one that the loader takes
first() {
    doctor 'nccl' ./$1 | sed -n "s|.* finds \([^ ]*\) first.*|\1|p; s|.* \([^ ]*\), linked|\1|p"
    [[ $("$SPECTER" doctor ./$1 | grep -c ' nccl ') == 1 ]] || echo "not one line"
    ldd ./$1 | grep -m 1 -o "=> $PWD/[a-z]*/libnccl.so.2" | sed "s|$PWD|PWD|"
}
export LD_LIBRARY_PATH=$PWD/env
new=-Wl,--enable-new-dtags old=-Wl,--disable-new-dtags
link() { "$cc" -Wl,--no-as-needed -o "$@"; }
both=-Wl,-rpath,$PWD/run:$PWD/deep
link runpath main.c step.c run/libnccl.so.2 $new $both && first runpath
link rpath main.c step.c run/libnccl.so.2 $old $both && first rpath
link parent main.c deep/libstep.so $old $both && first parent
link alone main.c deep/libstep.so $new $both && first alone
(unset LD_LIBRARY_PATH; first runpath)
link plugin main.c step.c nccl.c env/libnccl-net.so
doctor nccl ./plugin
export LD_LIBRARY_PATH=$PWD/amd
link amd_program main.c step.c amd/librccl.so.1
doctor 'rccl|nccl|static nccl|librccl|librocblas' ./amd_program
cp amd/librccl.so.1 amd/librocblas.so.4
cp amd/librccl.so.1 amd/libhipblaslt.so.0
doctor 'librocblas|libhipblaslt'
