# SPDX-License-Identifier: MIT
# -o OUT: also where the file system knows no flags of rename (NFS); nothing that is there is
# replaced, and what cannot be made is said before anything is.
mkdir traces empty
echo '{"event":"init","version":1,"run":"r","rank":0,"host":"h","real_ns":1}' >traces/specter_trace_rank0.jsonl
"$SPECTER" dump -o empty traces
echo "status $?"
"$SPECTER" dump -o no/such traces
echo "status $?"
ls traces
"$SPECTER" dump -o plain traces

cat >rename.c <<'END'
#include <errno.h>
#include <stdlib.h>
int renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    (void)a, (void)from, (void)b, (void)to, (void)flags;
    errno = atoi(getenv("FAILS_WITH"));
    return -1;
}
END
"$CC" -shared -fPIC -o rename.so rename.c
export ASAN_OPTIONS=verify_asan_link_order=0
for error in 22 38; do # EINVAL, ENOSYS
    FAILS_WITH=$error LD_PRELOAD=$PWD/rename.so "$SPECTER" dump -o out$error traces
    echo "status $?"
    ls out$error
done
FAILS_WITH=18 LD_PRELOAD=$PWD/rename.so "$SPECTER" dump -o mount traces # EXDEV: a mount of the same
echo "status $?"
ls traces | sed 's/dump-.*/dump-TIME/'
