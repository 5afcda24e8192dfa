# The loader binds a reference of an object once, for all the places that call it. So a place that calls
# later goes where the first one went, whatever has become global since; and it asks the loader nothing,
# which does not answer while it runs a constructor that waits for the calling thread.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
PRELOAD=$LIBSPECTER
unset LD_LIBRARY_PATH
little_nccl 1 && little_nccl 2 || exit 1
cat >plugin.c <<'C'
int ncclGroupStart(void);
int first(void), second(void), third(void);
#define CALL(_place) int _place(void) { volatile int result = ncclGroupStart(); return result; }
CALL(first)
CALL(second)
CALL(third)
C
cat >waits.c <<'C'
#include <pthread.h>
void call_third(void);
static void *call(void *unused) { call_third(); return unused; }
__attribute__((constructor)) static void wait_for_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, 0, call, 0) == 0)
        pthread_join(thread, 0);
}
C
cat >main.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
static void *plugin;
static void call(const char *place)
{
    int (*f)(void) = (int (*)(void))dlsym(plugin, place);
    printf("%s: %d\n", place, f ? f() : -1);
    fflush(stdout);
}
static int (*third)(void);
static int result;
void call_third(void) { result = third(); }
int main(int argc, char **argv)
{
    alarm(60); /* where two threads wait for each other */
    plugin = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : 0;
    if (!plugin)
        return 2;
    third = (int (*)(void))dlsym(plugin, "third");
    call("first");
    if (!dlopen("./v2/libnccl.so.2", RTLD_NOW | RTLD_GLOBAL))
        return 3;
    call("second");
    if (!dlsym(RTLD_DEFAULT, "_dl_find_object")) /* before glibc 2.35 every first call asks the loader */
        call_third();
    else if (!dlopen("./waits.so", RTLD_NOW))
        return 4;
    printf("third: %d\n", result);
    return 0;
}
C
"$cc" -shared -fPIC -Wl,-z,lazy -o plugin.so plugin.c v1/libnccl.so.2 -Wl,-rpath,"$PWD/v1" &&
    "$cc" -shared -fPIC -Wl,-z,now -o plugin_now.so plugin.c v1/libnccl.so.2 -Wl,-rpath,"$PWD/v1" &&
    "$cc" -shared -fPIC -o waits.so waits.c -Wl,--allow-shlib-undefined -lpthread &&
    "$cc" -rdynamic -o main main.c -ldl || exit 1
for plugin in plugin plugin_now; do
    ./main ./$plugin.so >plain || fail "$plugin, untraced: status $?"
    traced $plugin ./main ./$plugin.so >traced || echo "$plugin, traced: status $?"
    diff plain traced
    check $plugin/*
done
cat plain
