/* SPDX-License-Identifier: MIT
 *
 * dlerror() beside the program's own malloc() and free(): `loader_errors` reads errors of the
 * loader in many threads that end, between calls of a hooked function. Prints what is wrong,
 * nothing when all is well; on stderr how often dlerror() called free(NULL).
 */
#include <dlfcn.h>
#include <malloc.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 200

extern void __libc_free(void *p);

static _Thread_local volatile bool
    is_on;                       /* within dlerror(), which <dlfcn.h> says calls nothing here */
static atomic_int freed_nothing; /* free(NULL) within dlerror() */

/* Of the program, so that all libraries use it, as that of jemalloc. */
void free(void *p)
{
    if (p == NULL && is_on)
        atomic_fetch_add(&freed_nothing, 1);
    __libc_free(p);
}

static char *last_error(void)
{
    char *text;
    is_on = true;
    text = dlerror();
    is_on = false;
    return text;
}

static void *read_errors(void *unused)
{
    char handle[64] = {0};
    const char *text;
    (void)unused;
    last_error();
    dlopen("libthere_is_none.so", RTLD_NOW);
    ncclAllReduce(NULL, NULL, 1, ncclFloat32, ncclSum, (ncclComm_t)(void *)handle, NULL);
    text = last_error();
    if (text == NULL || strstr(text, "libthere_is_none.so") == NULL)
        printf("the error is '%s'\n", text != NULL ? text : "none");
    if (last_error() != NULL)
        puts("an error is there twice");
    dlopen("libthere_is_none.so", RTLD_NOW);
    last_error(); /* the thread ends with a text that it was given */
    return NULL;
}

static size_t bytes_in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return (size_t)mallinfo().uordblks;
#endif
}

static void run_threads(int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, read_errors, NULL) != 0 ||
            pthread_join(thread, NULL) != 0)
            exit(77);
    }
}

int main(void)
{
    size_t before;
    mallopt(M_ARENA_MAX, 1);
    run_threads(10);
    before = bytes_in_use();
    run_threads(THREADS);
    if (bytes_in_use() > before + 16 * THREADS) /* a text has more */
        printf("%zu bytes of %d threads are left\n", bytes_in_use() - before, THREADS);
    fprintf(stderr, "%d\n", freed_nothing);
    return 0;
}
