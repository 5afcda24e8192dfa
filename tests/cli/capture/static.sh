# A static program is not harmed by a preload, and its children have it: it runs, after one line.
. "$ROOT/tests/cli/doctor/common.bash"
cat >main.c <<'C'
#include <stdlib.h>
int main(void) { return system("echo \"${LD_PRELOAD##*/}\"") != 0; }
C
"$cc" -static -o static main.c 2>/dev/null || { echo "no static libc here"; exit 77; }
"$SPECTER" capture -o traces -- ./static 2>err
head -n 1 err
