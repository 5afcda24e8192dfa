# A driver that hangs, crashes, fails or finds nothing is told from one that works.
. "$ROOT/tests/cli/doctor/common.bash"
stub() {
    mkdir -p "$1"
    printf '#include <stdlib.h>\n#include <unistd.h>\n#include <stdio.h>\n%s\n' "$2" |
        "$cc" -shared -fPIC -o "$1/libcuda.so.1" -xc - || exit 1
    LD_LIBRARY_PATH=$1 doctor gpu --timeout "${3:-30}"
}
rest='int cuDeviceGetCount(int *n) { *n = 0; return 0; } int cuDriverGetVersion(int *v) { *v = 12040; return 0; }'
stub hangs "int cuInit(unsigned f) { (void)f; return (int)sleep(1000); } $rest" 0.2
stub crashes "int cuInit(unsigned f) { (void)f; abort(); } $rest"
stub fails "int cuInit(unsigned f) { (void)f; fputs(\"noise\\\\n\", stderr); return 999; } $rest"
stub none "int cuInit(unsigned f) { return (int)f; } $rest"
stub lacks "$rest"
