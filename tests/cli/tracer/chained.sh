# Other preloads before and behind: those that hand functions on by RTLD_NEXT stay in the chain, and
# those that stand in front of dlsym() too.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
PRELOAD=$LIBSPECTER # a sanitizer does not bear others in front of it
"$cc" -shared -fPIC -o hand_on.so -xc - -ldl <<'C' || exit 1
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int ncclGroupStart(void)
{
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "ncclGroupStart");
    fputs("handed on\n", stderr);
    return next ? next() : 9;
}
C
"$cc" -shared -fPIC -O2 -o ask.so -xc - -ldl <<'C' || exit 1
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <stdio.h>
/* As programs that watch what is looked up do it; asked from its own constructor already. */
static void *(*real)(void *, const char *);
static void find(void)
{
    const char *versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (int i = 0; !real && i < 3; i++)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}
void *dlsym(void *handle, const char *name)
{
    find();
    if (strcmp(name, "ncclGroupStart") == 0)
        fputs("asked\n", stderr);
    return real(handle, name);
}
__attribute__((constructor)) static void early(void)
{
    if (!dlsym(RTLD_DEFAULT, "malloc"))
        fputs("wrong answer\n", stderr);
}
C
for list in "$PRELOAD:$PWD/hand_on.so" "$PWD/hand_on.so:$PRELOAD"; do
    LD_PRELOAD=$list SPECTER_OUTPUT=out "$CALLS" groups 2>&1 | sort | uniq -c
done
ops out/specter_trace_rank0.jsonl op | sort | uniq -c
ops out/specter_trace_rank0.1.jsonl op | sort | uniq -c
# in front of ours, it goes straight to libc: nothing of what is looked up can be seen
for list in "$PRELOAD:$PWD/ask.so" "$PWD/ask.so:$PRELOAD"; do
    LD_PRELOAD=$list SPECTER_OUTPUT=asked "$LOOKUPS" handle
    LD_PRELOAD=$list SPECTER_OUTPUT=asked "$LOOKUPS" next
done 2>&1
for file in asked/*; do
    ops "$file" op | sort | uniq -c
done
