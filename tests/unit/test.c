/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct test *tests;
static int failures;
static const char *skipped;

void test_register(struct test *t)
{
    struct test **at = &tests;
    while (*at != NULL)
        at = &(*at)->next;
    *at = t;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    failures++;
    printf("# %s:%d: ", file, line);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

void test_skip(const char *reason)
{
    skipped = reason;
}

void test_check_int(const char *file, int line, const char *what, int64_t got, int64_t want)
{
    if (got != want)
        test_fail(file, line, "%s is %lld, want %lld", what, (long long)got, (long long)want);
}

void test_check_double(const char *file, int line, const char *what, double got, double want,
                       double relative)
{
    double allowed = relative * (want != 0 ? fabs(want) : 1);
    if (!(fabs(got - want) <= allowed))
        test_fail(file, line, "%s is %.12g, want %.12g within %g", what, got, want, allowed);
}

void test_check_str(const char *file, int line, const char *what, const char *got, const char *want)
{
    if (got == NULL || strcmp(got, want) != 0)
        test_fail(file, line, "%s is \"%s\", want \"%s\"", what, got ? got : "(null)", want);
}

void test_check_has(const char *file, int line, const char *what, const char *got, const char *part)
{
    if (got == NULL || strstr(got, part) == NULL)
        test_fail(file, line, "%s is \"%s\", want \"%s\" in it", what, got ? got : "(null)", part);
}

static const char *test_root(void)
{
    const char *root = getenv("SPECTER_ROOT");
    return root != NULL ? root : ".";
}

const char *test_shared(const char *path)
{
    static char full[4096];
    snprintf(full, sizeof full, "%s/../shared/%s", test_root(), path);
    return access(full, R_OK) == 0 ? full : NULL;
}

const char *test_data(const char *name)
{
    static char full[4096];
    snprintf(full, sizeof full, "%s/tests/data/%s", test_root(), name);
    return full;
}

static bool wanted(const struct test *t, const char *pattern)
{
    return pattern == NULL || strstr(t->name, pattern) != NULL || strstr(t->file, pattern) != NULL;
}

/* Runs the tests whose name or file contains argv[1], or all; prints TAP, each line when it is
 * known. */
int main(int argc, char **argv)
{
    const char *pattern = argc > 1 ? argv[1] : NULL;
    int number = 0, failed = 0, planned = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (struct test *t = tests; t != NULL; t = t->next)
        planned += wanted(t, pattern);
    printf("1..%d\n", planned);
    for (struct test *t = tests; t != NULL; t = t->next) {
        if (!wanted(t, pattern))
            continue;
        failures = 0;
        skipped = NULL;
        t->run();
        number++;
        failed += failures > 0;
        printf("%s %d - %s%s%s\n", failures ? "not ok" : "ok", number, t->name,
               skipped ? " # SKIP " : "", skipped ? skipped : "");
    }
    return failed != 0;
}
