/* SPDX-License-Identifier: MIT
 *
 * Calls before main() and after it, over libraries whose functions return at once
 * (tests/bench/stub.c):
 *
 *     late_calls handlers    in a constructor, in main, in exit handlers registered before and
 *                            after the first call, in a destructor: 1, 2, 4, 8 and 16 calls
 *     late_calls threads     8 threads that call until a destructor stops them
 *
 * As a library (-DLATE_LIBRARY): 32 calls in a handler of its constructor, 64 in its destructor.
 * The program prints how many calls it has made, in its destructor, and ends with status 9.
 */
#include <nccl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char handle[64];
static _Atomic int calls;

static void call(int times)
{
    for (int i = 0; i < times; i++, calls++)
        ncclAllReduce(NULL, NULL, 1, ncclFloat32, ncclSum, (ncclComm_t)handle, NULL);
}

#ifdef LATE_LIBRARY

static void handler(void)
{
    call(32);
}

__attribute__((constructor)) static void begin(void)
{
    atexit(handler);
}

__attribute__((destructor)) static void end(void)
{
    call(64);
}

#else

#define THREADS 8

static pthread_t threads[THREADS];
static int nthreads;
static _Atomic bool stop;

static void early_handler(void)
{
    call(8);
}

static void late_handler(void)
{
    call(4);
}

__attribute__((constructor)) static void begin(void)
{
    atexit(early_handler); /* runs after the tracer's, which the first call registers */
    call(1);
}

__attribute__((destructor)) static void end(void)
{
    stop = true;
    for (int i = 0; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    call(16);
    printf("%d calls\n", calls);
    fflush(stdout);
}

static void *call_on(void *unused)
{
    while (!stop) {
        call(5);
        usleep(200);
    }
    return unused;
}

static void bare_child(void)
{
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        call(3);
        exit(9);
    }
    waitpid((pid_t)child, NULL, 0);
}

int main(int argc, char **argv)
{
    atexit(late_handler);
    call(2);
    if (argc == 2 && strcmp(argv[1], "threads") == 0) {
        for (; nthreads < THREADS; nthreads++) {
            if (pthread_create(&threads[nthreads], NULL, call_on, NULL) != 0)
                exit(3);
        }
        usleep(50000);
    }
    if (argc == 2 && strcmp(argv[1], "clone") == 0) {
        usleep(
            50000); /* a child of a bare clone() never gets a lock that another thread had then */
        bare_child();
    }
    exit(9);
}

#endif
