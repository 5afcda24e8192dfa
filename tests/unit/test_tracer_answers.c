/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/loader.h"
#include "../../tracer/dlsym.h"
#include "../../tracer/resolve.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void first(void)
{
}

static void second(void)
{
}

static const void *place(uintptr_t n)
{
    return (const void *)(0x10000 + n * 16);
}

TEST(tracer_answers_are_kept_by_function_and_place)
{
    uint32_t now = atomic_load(&answers_generation);
    CHECK(answers_get(1, place(1)) == NULL);
    answers_put(1, place(1), first, now);
    answers_put(2, place(1), second, now);
    CHECK(answers_get(1, place(1)) == first);
    CHECK(answers_get(2, place(1)) == second);
    CHECK(answers_get(1, place(2)) == NULL);
    answers_put(1, place(1), second, now);
    CHECK(answers_get(1, place(1)) == second);
}

TEST(tracer_answers_are_dropped_together)
{
    uint32_t before = atomic_load(&answers_generation);
    answers_put(3, place(3), first, before);
    answers_put(4, place(3), second, before);
    CHECK(answers_get(3, place(3)) == first);
    resolve_unloaded();
    CHECK(answers_get(3, place(3)) == NULL);
    CHECK(answers_get(4, place(3)) == NULL);
    answers_put(3, place(3), first, before); /* found before */
    CHECK(answers_get(3, place(3)) == NULL);
    answers_put(3, place(3), second, atomic_load(&answers_generation));
    CHECK(answers_get(3, place(3)) == second);
}

/* Far more places than there is room for, in generation after generation: some are forgotten, none
 * is answered with another's function. */
TEST(tracer_answers_of_a_full_table_are_right)
{
    for (int round = 0; round < 3; round++) {
        uint32_t now = atomic_load(&answers_generation);
        size_t kept = 0, wrong = 0;
        for (uintptr_t i = 0; i < 20000; i++)
            answers_put((enum hook_id)(i % 7), place(i), i % 3 == 0 ? first : second, now);
        for (uintptr_t i = 0; i < 20000; i++) {
            function got = answers_get((enum hook_id)(i % 7), place(i));
            kept += got != NULL;
            wrong += got != NULL && got != (i % 3 == 0 ? first : second);
        }
        CHECK_INT(wrong, 0);
        CHECK(kept > 3000 && kept <= 4096);
        resolve_unloaded();
    }
}

#ifdef TRACER_HAS_DLSYM

/* As libc, "next" is behind libc, where it is not found; as this program, it is libc's. */
TEST(tracer_asks_the_loader_in_the_name_of_others)
{
    static const char name[] = "gnu_get_libc_version";
    struct dl_functions dlsyms = libc_dlsyms();
    const void *libc = dlsym(RTLD_DEFAULT, name);
    void *found = NULL;
    const char *text;
    if (libc == NULL || !as_caller_ask(&dlsyms, libc, RTLD_DEFAULT, name, NULL, &found))
        SKIP("the loader cannot be asked in the name of libc here");
    CHECK(found == libc);
    CHECK(as_caller_ask(&dlsyms, libc, RTLD_NEXT, name, NULL, &found) && found == NULL);
    text = dlerror();
    CHECK(text != NULL && strstr(text, "libc.so.6") != NULL);
    CHECK(as_caller_ask(&dlsyms, NULL, RTLD_NEXT, name, NULL, &found) && found == libc);
    CHECK(!as_caller_ask(&dlsyms, &dlsyms, RTLD_DEFAULT, name, NULL, &found));
}

/* An error that waits for dlerror() is there after questions of our own, and gone where the loader
 * would have dropped it. */
TEST(tracer_keeps_an_error_that_waits)
{
    char before[256];
    const char *text;
    CHECK(dlopen("libdoes_not_exist.so", RTLD_NOW) == NULL);
    snprintf(before, sizeof before, "%s", dlerror());
    CHECK(dlopen("libdoes_not_exist.so", RTLD_NOW) == NULL);
    for (int i = 0; i < 2; i++) {
        pending_begin();
        CHECK(real_dlsym(RTLD_DEFAULT, i == 0 ? "qsort" : "no_such_function") != NULL || i == 1);
        pending_end();
    }
    text = dlerror();
    CHECK_STR(text != NULL ? text : "(none)", before);
    CHECK(dlerror() == NULL);
    pending_begin();
    real_dlsym(RTLD_DEFAULT, "no_such_function");
    pending_end();
    CHECK(dlerror() == NULL);
    CHECK(dlopen("libdoes_not_exist.so", RTLD_NOW) == NULL);
    text = dlerror();
    for (int i = 0; i < 2; i++) { /* what the program has got stays its own */
        pending_begin();
        real_dlsym(RTLD_DEFAULT, "no_such_function");
        pending_end();
    }
    CHECK_STR(text != NULL ? text : "(none)", before);
    CHECK(dlopen("libdoes_not_exist.so", RTLD_NOW) == NULL);
    pending_begin();
    pending_end();
    CHECK(dlopen(NULL, RTLD_NOW) != NULL); /* a success takes the error away */
    CHECK(dlerror() == NULL);
}

#endif
