/* SPDX-License-Identifier: MIT */
#include "pending.h"

#include "dlsym.h"
#include "real.h"

#ifdef TRACER_HAS_DLSYM

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* No function has such a name, so that looking for it leaves an error with the name in it. */
#define MARK "specter: an earlier error"

/* Of this thread: the text of an error that is put aside, NULL for none; and what dlerror() gave
 * the program last, which is the program's until it asks again. The loader's own text would go with
 * the next question that is asked here. */
static __thread char *aside __attribute__((tls_model("initial-exec")));
static __thread char *given __attribute__((tls_model("initial-exec")));

static void put_aside(char *text)
{
    free(aside);
    aside = text;
}

void pending_begin(void)
{
    char *(*next)(void) = next_dlerror();
    const char *text = next != NULL ? next() : NULL;
    if (text != NULL && strstr(text, MARK) == NULL)
        put_aside(strdup(text));
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
    put_aside(strdup(text));
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
        given = text != NULL ? strdup(text) : NULL;
    }
    free(last);
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
