/* SPDX-License-Identifier: MIT
 *
 * Keeps the error that waits for the program's dlerror() while the tracer asks the loader
 * (loader.h).
 */
#include "loader.h"

#include "dlsym.h"

#ifdef TRACER_HAS_DLSYM

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* No function has such a name, so that looking for it leaves an error with the name in it. */
#define MARK "specter: an earlier error"

/* Of this thread: the text of an error that is put aside, NULL for none; and what dlerror() gave
 * the program last, which is the program's until it asks again. The loader's own text would go with
 * the next question that is asked here. */
static __thread char *aside __attribute__((tls_model("initial-exec")));
static __thread char *given __attribute__((tls_model("initial-exec")));

static pthread_t first_thread; /* of the process */

__attribute__((constructor)) static void note_first_thread(void)
{
    first_thread = pthread_self();
}

/* The function with which C++ registers destructors of thread-local objects. */
int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *dso);
extern void *__dso_handle;

/* glibc never calls the allocator where no error is there: nor may this, below a malloc() of the
 * program's that asks dlerror(). */
static void forget(char **text)
{
    if (*text != NULL)
        free(*text);
    *text = NULL;
}

static void end_thread(void *unused)
{
    (void)unused;
    forget(&aside);
    forget(&given);
}

/* A copy that ends with the thread. That of the process's first thread stays: exit() ends its
 * thread-local objects before the exit handlers, which may still read the text. */
static char *copy(const char *text)
{
    static __thread bool is_registered __attribute__((tls_model("initial-exec")));
    if (!is_registered && !pthread_equal(pthread_self(), first_thread))
        is_registered = __cxa_thread_atexit_impl(end_thread, NULL, &__dso_handle) == 0;
    return strdup(text);
}

static void put_aside(const char *text)
{
    forget(&aside);
    if (text != NULL)
        aside = copy(text);
}

void pending_begin(void)
{
    char *(*next)(void) = next_dlerror();
    const char *text = next != NULL ? next() : NULL;
    if (text != NULL && strstr(text, MARK) == NULL)
        put_aside(text);
    else if (text == NULL)
        put_aside(NULL);
}

void pending_end(void)
{
    char *(*next)(void) = next_dlerror();
    if (aside != NULL)
        real_dlsym(RTLD_DEFAULT, MARK);
    else if (next != NULL)
        next();
}

void pending_replace(const char *text)
{
    put_aside(text);
    pending_end();
}

__attribute__((visibility("default"))) char *dlerror(void)
{
    char *(*next)(void) = next_dlerror();
    const char *text = next != NULL ? next() : NULL;
    char *last = given;
    if (text != NULL && aside != NULL && strstr(text, MARK) != NULL) {
        given = aside;
        aside = NULL;
    } else {
        given = text != NULL ? copy(text) : NULL;
    }
    forget(&last);
    return given;
}

#else

void pending_begin(void)
{
}

void pending_end(void)
{
}

void pending_replace(const char *text)
{
    (void)text;
}

#endif
