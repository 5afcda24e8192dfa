# SPDX-License-Identifier: MIT
# The loader finds the file of a library that is expected, another one, or none.
. "$ROOT"/tests/cli/doctor/common.bash
mkdir a b
for dir in a b; do
    echo "int which_$dir;" | "$cc" -shared -fPIC -Wl,-soname,libspectertest.so.1 -x c - -o $dir/libspectertest.so.1.2
    ln -s libspectertest.so.1.2 $dir/libspectertest.so.1
done
doctor expected --expect-lib a/libspectertest.so.1
export LD_LIBRARY_PATH=$PWD/b:$PWD/a
doctor expected --expect-lib a/libspectertest.so.1.2
doctor expected --expect-lib b/libspectertest.so.1.2
doctor expected --expect-lib c/libspectertest.so.1
