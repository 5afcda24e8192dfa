# Properties of a program that a preload cannot keep are a warning, as are those of the libraries that `import torch`
# loads.
. "$ROOT/tests/cli/doctor/common.bash"
cat >weak.c <<'C'
#pragma weak ncclAllReduce
#pragma weak cudaDeviceSynchronize
#pragma weak cublasSgemm_v2
int ncclAllReduce(void), cudaDeviceSynchronize(void), cublasSgemm_v2(void);
int main(void) { return !ncclAllReduce + !cudaDeviceSynchronize + !cublasSgemm_v2; }
C
"$cc" -fPIE -pie -o weak weak.c || exit 1
doctor program -- ./weak
mkdir -p bin site/torch
"$cc" -o bin/python3 -xc - <<<'#include <stdio.h>
int main(void) { return printf("%s/site/torch\n2.11\n", getenv("PWD")) < 0; }' -include stdlib.h || exit 1
"$cc" -shared -fPIC -o site/torch/_C.so -xc - <<<'#pragma weak ncclAllReduce
int ncclAllReduce(void); int has(void) { return ncclAllReduce != 0; }' || exit 1
doctor 'program|torch' -- bin/python3
