/* SPDX-License-Identifier: MIT
 *
 * Programs that interrupt a hook at any point, over libraries whose functions return at once
 * (tests/bench/stub.c) and so have nothing that an interruption could break: `instant SCENARIO`.
 * Errors show in the trace: all of them end with ten calls of count 77. Prints how often they
 * called before, and how many signals came.
 */
#include <limits.h>
#include <nccl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define SIGNALS 50

static char handle[64];
static ncclComm_t comm = (ncclComm_t)handle;
static volatile sig_atomic_t signals;
static volatile long calls; /* from outside handlers */
static sigjmp_buf way_out;

static void call(size_t count)
{
    ncclAllReduce(NULL, NULL, count, ncclFloat32, ncclSum, comm, NULL);
}

static void set_timer(void (*handler)(int), int flags, long us)
{
    const struct itimerval every = {{0, us}, {0, us}};
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
    if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &every, NULL) != 0)
        abort();
}

static void stop_timer(void)
{
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

static void call_in_handler(int signal)
{
    (void)signal;
    signals++;
    call(5);
}

static void call_until_signalled(void)
{
    while (signals < SIGNALS) {
        call(1);
        calls++;
    }
}

static void handler_calls(void)
{
    set_timer(call_in_handler, 0, 100);
    call_until_signalled();
}

/* A stack of its own says nothing about what the handler interrupted. */
static void handler_on_other_stack(void)
{
    static char stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    if (sigaltstack(&alternate, NULL) != 0)
        abort();
    set_timer(call_in_handler, SA_ONSTACK, 100);
    call_until_signalled();
}

static void jump_out(int signal)
{
    (void)signal;
    signals++;
    siglongjmp(way_out, 1);
}

static void handler_jumps(void)
{
    (void)sigsetjmp(way_out, 1);
    if (signals < SIGNALS) {
        set_timer(jump_out, 0, 100);
        for (;;) {
            calls++; /* first: this one may be jumped out of */
            call(1);
        }
    }
    stop_timer(); /* before the frame that way_out names is gone; a signal that is pending comes
                     first */
}

static void *call_once(void *unused)
{
    call(1);
    calls++;
    return unused;
}

static void *call_until_cancelled(void *unused)
{
    int before;
    call(1); /* what happens once is safe from this, but not what the C library does for it */
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    for (;;)
        call(2);
    return unused;
}

/* Threads that end at any point of a hook. */
static void threads_cancelled(void)
{
    pthread_t thread;
    for (unsigned i = 0; i < 50; i++) {
        if (pthread_create(&thread, NULL, call_until_cancelled, NULL) != 0)
            abort();
        usleep(1000 + 100 * i);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        calls++;
    }
}

static void allow_memory(rlim_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        abort();
    limit.rlim_cur = bytes;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        abort();
}

/* As much as there is now, and what a library may need to say that there is no more. */
static void allow_no_more_memory(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%lu", &pages) != 1)
        abort();
    fclose(f);
    allow_memory(pages * (rlim_t)sysconf(_SC_PAGESIZE) + 4096);
}

/* From before the first call on: the tracer has no thread. */
static void no_memory(void)
{
    allow_no_more_memory();
    call(1);
    calls++;
}

static pthread_barrier_t memory_is_gone;

static void *call_ten_times(void *unused)
{
    pthread_barrier_wait(&memory_is_gone);
    for (int i = 0; i < 10; i++)
        call(1);
    calls += 10;
    return unused;
}

/* A thread for which there is no ring. */
static void no_ring(void)
{
    pthread_t thread;
    call(1);
    calls++;
    pthread_barrier_init(&memory_is_gone, NULL, 2);
    if (pthread_create(&thread, NULL, call_ten_times, NULL) != 0)
        abort();
    allow_no_more_memory();
    pthread_barrier_wait(&memory_is_gone);
    pthread_join(thread, NULL);
    allow_memory(RLIM_INFINITY);
}

/* The smallest stack that a thread may have. */
static void small_stacks(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)) != 0)
        abort();
    for (int i = 0; i < 10; i++) {
        if (pthread_create(&thread, &attr, call_once, NULL) != 0)
            abort();
        pthread_join(thread, NULL);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"handler_calls", handler_calls}, {"handler_on_other_stack", handler_on_other_stack},
    {"handler_jumps", handler_jumps}, {"threads_cancelled", threads_cancelled},
    {"no_memory", no_memory},         {"no_ring", no_ring},
    {"small_stacks", small_stacks},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0)
            scenarios[i].run();
    }
    stop_timer();
    signal(SIGALRM, SIG_IGN);
    usleep(100000); /* the rings are empty */
    for (int i = 0; i < 10; i++)
        call(77);
    printf("%ld %d\n", calls, (int)signals);
    return 0;
}
