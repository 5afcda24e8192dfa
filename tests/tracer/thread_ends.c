/* SPDX-License-Identifier: MIT
 *
 * Threads whose destructors of thread-local values call NCCL in every round that the C library
 * makes, over libraries whose functions return at once (tests/bench/stub.c):
 *
 *     thread_ends one_by_one    600 threads, each when the one before has ended
 *     thread_ends at_once       64 threads, which all end at the same time
 *
 * There are two such values, one from before the process's first call and one from after it: the C
 * library ends them in the order in which they were made. Each thread calls once itself, and 3
 * times in each of 4 rounds for each value: 25 times. Prints how many calls that were in all.
 */
#include <limits.h>
#include <nccl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE_BY_ONE 600
#define AT_ONCE 64

static pthread_key_t keys[2];
static pthread_barrier_t together;
static _Atomic int calls;
static char handle[64];

static void call(void)
{
    calls++;
    ncclAllReduce(NULL, NULL, 1, ncclFloat32, ncclSum, (ncclComm_t)handle, NULL);
}

/* value: in the first round 1, and so on. */
static void end_value(int key, void *value)
{
    intptr_t round = (intptr_t)value;
    for (int i = 0; i < 3; i++)
        call();
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(keys[key], (void *)(round + 1));
}

static void end_first(void *value)
{
    end_value(0, value);
}

static void end_second(void *value)
{
    end_value(1, value);
}

static void *body(void *wait)
{
    pthread_setspecific(keys[0], (void *)(intptr_t)1);
    pthread_setspecific(keys[1], (void *)(intptr_t)1);
    call();
    if (wait != NULL)
        pthread_barrier_wait(&together);
    return NULL;
}

static void one_by_one(void)
{
    pthread_t thread;
    for (int i = 0; i < ONE_BY_ONE; i++) {
        if (pthread_create(&thread, NULL, body, NULL) != 0)
            exit(3);
        pthread_join(thread, NULL);
    }
}

static void at_once(void)
{
    pthread_t threads[AT_ONCE];
    pthread_barrier_init(&together, NULL, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++) {
        if (pthread_create(&threads[i], NULL, body, &together) != 0)
            exit(3);
    }
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    pthread_key_create(&keys[0], end_first);
    call();
    pthread_key_create(&keys[1], end_second);
    if (argc == 2 && strcmp(argv[1], "at_once") == 0)
        at_once();
    else
        one_by_one();
    printf("%d calls\n", calls);
    return 0;
}
