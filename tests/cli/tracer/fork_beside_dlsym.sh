# fork() does not wait for another thread's own dlsym(), which the loader keeps waiting while it runs the
# constructor of a library.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
PRELOAD=$LIBSPECTER
unset LD_LIBRARY_PATH
little_nccl 1 || exit 1
cat >slow.c <<'C'
extern void in_constructor(void);
__attribute__((constructor)) static void load(void) { in_constructor(); }
C
cat >main.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define FORKS 10
static sem_t is_loading, may_end, has_begun;
static int asks;
void in_constructor(void)
{
    sem_post(&is_loading);
    sem_wait(&may_end);
}
static void *load(void *unused)
{
    if (!dlopen("./slow.so", RTLD_NOW))
        exit(3);
    return unused;
}
static void *ask(void *handle)
{
    asks = (int)syscall(SYS_gettid);
    sem_post(&has_begun);
    return dlsym(handle, "ncclGroupStart");
}
static int sleeps(int thread)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
        exit(4);
    fclose(f);
    return state == 'S';
}
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
int main(int argc, char **argv)
{
    pthread_t loading, asking;
    void *nccl = argc == 2 ? dlopen(argv[1], RTLD_NOW) : 0, *found;
    double least = 1e9;
    if (!nccl)
        return 2;
    pthread_create(&loading, 0, load, 0);
    sem_wait(&is_loading);
    pthread_create(&asking, 0, ask, nccl);
    sem_wait(&has_begun);
    while (!sleeps(asks)) /* it waits for the loader */
        usleep(1000);
    for (int i = 0; i < FORKS; i++) {
        double begun = now(), took;
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        took = now() - begun;
        least = took < least ? took : least;
        waitpid(child, 0, 0);
    }
    sem_post(&may_end);
    pthread_join(loading, 0);
    pthread_join(asking, &found);
    if (!found || least >= 100)
        printf("%s; the fastest of %d forks took %.1f ms\n", found ? "found" : "not found", FORKS, least);
    return 0;
}
C
"$cc" -shared -fPIC -o slow.so slow.c -Wl,--allow-shlib-undefined &&
    "$cc" -rdynamic -o main main.c -ldl -lpthread || exit 1
./main v1/libnccl.so.2 || fail "untraced: status $?"
traced out ./main v1/libnccl.so.2 || fail "traced: status $?" # without a traced call, so the tracer asks nothing itself
