/* SPDX-License-Identifier: MIT
 *
 * Programs that do to a tracer what programs do, one a name: `stress SCENARIO`. Each prints only
 * what went wrong. calls.c has the calls themselves; here is what happens around them.
 */
#include "calls.h"

#include "../emu/emu.h"

#include <locale.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

static void reduce(struct world *w, size_t count)
{
    OK(ncclAllReduce(w->a, w->b, count, ncclFloat32, ncclSum, w->comm, w->stream));
}

static void reduce_and_wait(struct world *w, size_t count)
{
    reduce(w, count);
    OK(cudaStreamSynchronize(w->stream));
}

/* ---- handles ---- */

/* A million, of which each hundredth is used, and each four hundredth lives until the end. */
static void a_million_events(struct world *w)
{
    for (int i = 0; i < 1000000; i++) {
        cudaEvent_t event;
        OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        if (i % 100 == 0)
            OK(cudaEventRecord(event, w->stream));
        if (i % 400 != 0)
            OK(cudaEventDestroy(event));
        if (i % 100000 == 0)
            usleep(20000); /* for the writer */
    }
    OK(cudaStreamSynchronize(w->stream));
}

/* The same address, again and again something new. */
static void streams_anew(struct world *w)
{
    for (int i = 0; i < 100; i++) {
        cudaStream_t stream;
        OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        OK(ncclAllReduce(w->a, w->b, 1, ncclFloat32, ncclSum, w->comm, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaStreamDestroy(stream));
    }
}

/* ---- threads ---- */

static struct world *shared;
static pthread_barrier_t all_there;

static void *record_some(void *unused)
{
    cudaEvent_t event;
    (void)unused;
    OK(cudaSetDevice(0));
    OK(cudaEventCreate(&event));
    for (int i = 0; i < 20; i++)
        OK(cudaEventRecord(event, shared->stream));
    return NULL;
}

static void *record_and_stay(void *unused)
{
    record_some(unused);
    pthread_barrier_wait(&all_there);
    return NULL;
}

static void run_threads(int count, void *(*body)(void *))
{
    pthread_t ids[512];
    CHECK(pthread_barrier_init(&all_there, NULL, (unsigned)count) == 0);
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&ids[i], NULL, body, NULL) == 0);
    for (int i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
}

/* 600 in all, 40 at a time, with a pause in which their blocks become free. */
static void threads_come_and_go(struct world *w)
{
    shared = w;
    for (int i = 0; i < 15; i++) {
        run_threads(40, record_some);
        usleep(30000);
    }
}

/* More at the same time than the tracer has room for. */
static void a_crowd(struct world *w)
{
    shared = w;
    run_threads(300, record_and_stay);
}

/* Groups within groups, messages and collectives in one, four threads at once. */
static void *use_groups(void *unused)
{
    struct world w;
    (void)unused;
    world_open(&w, 0, NULL);
    pthread_barrier_wait(&all_there);
    for (size_t i = 0; i < 100; i++) {
        OK(ncclGroupStart());
        reduce(&w, 100);
        OK(ncclGroupStart());
        OK(ncclSend(w.a, 200, ncclInt32, 0, w.comm, w.stream));
        OK(ncclGroupStart());
        OK(ncclRecv(w.b, 200, ncclInt32, 0, w.comm, w.stream));
        OK(ncclGroupEnd());
        OK(ncclGroupEnd());
        OK(ncclAllGather(w.a, w.b, 300, ncclFloat32, w.comm, w.stream));
        OK(ncclGroupEnd());
        reduce(&w, 400);
        if (i % 10 == 0)
            OK(cudaStreamSynchronize(w.stream));
    }
    OK(cudaStreamSynchronize(w.stream));
    return NULL;
}

static void nested_groups(struct world *w)
{
    (void)w;
    run_threads(4, use_groups);
}

static void allow_memory(rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* There is no memory for the tracer's ring until the group has begun. */
static void *begin_unseen(void *unused)
{
    (void)unused;
    OK(cudaSetDevice(0));
    allow_memory(1);
    OK(ncclGroupStart());
    allow_memory(RLIM_INFINITY);
    reduce(shared, 2);
    OK(ncclGroupEnd());
    reduce_and_wait(shared, 3);
    return NULL;
}

static void joins_in_group(struct world *w)
{
    shared = w;
    reduce_and_wait(w, 1);
    run_threads(1, begin_unseen);
}

/* One thread captures in the mode that any unsafe call of another thread would break. */
static void *capture_strictly(void *unused)
{
    struct world w;
    cudaGraph_t graph;
    (void)unused;
    world_open(&w, 0, NULL);
    OK(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeGlobal));
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    OK(cudaStreamEndCapture(w.stream, &graph));
    return NULL;
}

static void captures_beside(struct world *w)
{
    pthread_t thread;
    reduce(w, 1);
    CHECK(pthread_barrier_init(&all_there, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, capture_strictly, NULL) == 0);
    pthread_barrier_wait(&all_there);
    reduce(w, 2);
    OK(ncclGroupStart());
    reduce(w, 3);
    OK(ncclGroupEnd());
    pthread_barrier_wait(&all_there);
    pthread_join(thread, NULL);
}

/* One process, four devices, no rank of its own. */
static void several_devices(struct world *w)
{
    struct world d[4];
    ncclComm_t comms[4];
    (void)w;
    OK(ncclCommInitAll(comms, 4, NULL));
    for (int i = 0; i < 4; i++)
        world_open(&d[i], i, comms[i]);
    for (size_t round = 1; round <= 3; round++) {
        OK(ncclGroupStart());
        for (int i = 0; i < 4; i++)
            reduce(&d[i], 256 * round);
        OK(ncclGroupEnd());
    }
    for (int i = 0; i < 4; i++) {
        OK(cudaSetDevice(i));
        OK(cudaStreamSynchronize(d[i].stream));
    }
}

/* ---- children ---- */

static void await(pid_t child, const char *how)
{
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, how, __FILE__, __LINE__);
}

/* Children list their own files and threads, which the test compares with an untraced run. */
static void *make_children(void *unused)
{
    static char ls[] = "ls", verbose[] = "-l", files[] = "/proc/self/fd",
                tasks[] = "/proc/self/task";
    char *const command[] = {ls, verbose, files, tasks, NULL};
    pid_t child;
    (void)unused;
    CHECK(posix_spawnp(&child, command[0], NULL, NULL, command, environ) == 0);
    await(child, "posix_spawn");
    child = fork();
    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    await(child, "fork and exec");
    child = vfork();
    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    await(child, "vfork and exec");
    return NULL;
}

static void children(struct world *w)
{
    pthread_t thread;
    reduce_and_wait(w, 1);
    CHECK(pthread_create(&thread, NULL, make_children, NULL) == 0);
    pthread_join(thread, NULL);
    reduce_and_wait(w, 2);
}

/* The child's group is not the parent's, which goes on. */
static void fork_in_group(struct world *w)
{
    pid_t child;
    OK(ncclGroupStart());
    reduce(w, 1);
    child = fork();
    if (child == 0) {
        CHECK(ncclGroupEnd() == ncclUnhandledCudaError); /* it does not survive a fork */
        OK(ncclGroupStart());
        OK(ncclGroupEnd());
        exit(failures);
    }
    await(child, "the child");
    reduce(w, 2);
    OK(ncclGroupEnd());
    OK(cudaStreamSynchronize(w->stream));
}

/* Becomes another program, with the writer's thread running. */
static void becomes_another(struct world *w)
{
    reduce_and_wait(w, 1);
    usleep(300000); /* the line is written */
    execlp("sh", "sh", "-c", "ls /proc/self/task | wc -l", (char *)NULL);
}

/* ---- ends ---- */

static void *exit_soon(void *unused)
{
    (void)unused;
    usleep(50000);
    exit(6);
}

/* Another thread exits while this one is in one hook after the other. */
static void exit_beside(struct world *w)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, exit_soon, NULL) == 0);
    for (;;)
        reduce_and_wait(w, 1);
}

/* The driver is initialised, and registers its end, after the tracer's first call. */
static void driver_comes_late(struct world *w)
{
    OK(ncclGroupStart());
    OK(ncclGroupEnd());
    world_open(w, 0, NULL);
    for (size_t i = 0; i < 50; i++)
        reduce(w, 1);
}

/* The driver has gone before the tracer asks it for the last times. */
static void driver_goes_first(struct world *w)
{
    reduce_and_wait(w, 1);
    atexit(emu_deinitialize);
    reduce(w, 2);
}

/* ---- surroundings ---- */

/* All that a process may change about itself after the trace was opened. */
static void changes_itself(struct world *w)
{
    const char *point = getenv("STRESS_POINT"); /* that numbers are to have */
    reduce_and_wait(w, 1);
    umask(0777);
    setlocale(LC_ALL, "");
    CHECK(point == NULL || strcmp(localeconv()->decimal_point, point) == 0);
    CHECK(mkdir("cell", 0700) == 0 && chmod("cell", 0700) == 0);
    if (geteuid() == 0) {
        CHECK(chroot("cell") == 0);
        CHECK(chdir("/") == 0);
        CHECK(seteuid(65534) == 0);
        reduce_and_wait(w, 2);
        CHECK(seteuid(0) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    } else {
        CHECK(chdir("cell") == 0);
        reduce_and_wait(w, 2);
    }
    reduce_and_wait(w, 3);
    usleep(300000);
    reduce_and_wait(w, 4);
}

/* ---- which ---- */

static const struct scenario {
    const char *name;
    void (*run)(struct world *w);
    bool without_world; /* makes no call of its own beforehand */
} scenarios[] = {
    {"a_million_events", a_million_events, false},
    {"streams_anew", streams_anew, false},
    {"threads_come_and_go", threads_come_and_go, false},
    {"a_crowd", a_crowd, false},
    {"nested_groups", nested_groups, false},
    {"joins_in_group", joins_in_group, false},
    {"captures_beside", captures_beside, false},
    {"several_devices", several_devices, true},
    {"children", children, false},
    {"fork_in_group", fork_in_group, false},
    {"becomes_another", becomes_another, false},
    {"exit_beside", exit_beside, false},
    {"driver_comes_late", driver_comes_late, true},
    {"driver_goes_first", driver_goes_first, false},
    {"changes_itself", changes_itself, false},
};

int main(int argc, char **argv)
{
    struct world w;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (argc != 2 || strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        if (!scenarios[i].without_world)
            world_open(&w, 0, NULL);
        scenarios[i].run(&w);
        return failures != 0;
    }
    fprintf(stderr, "stress: no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
