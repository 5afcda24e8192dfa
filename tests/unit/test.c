/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 64, SAID_MAX = 16384 };

/* Memory that the processes that run the tests share. */
struct board {
    atomic_int next; /* the first test that no worker has taken, counted among those wanted */
    sem_t output;    /* held while a test's lines are written */
    struct worker {
        int test;            /* the one that it is in; -1: none */
        char said[SAID_MAX]; /* of that test's failures, a line each */
    } workers[WORKERS_MAX];
};

static struct test *tests;
static int failures;
static const char *skipped;
static struct worker *me; /* this process */

void test_register(struct test *t)
{
    struct test **at = &tests;
    while (*at != NULL)
        at = &(*at)->next;
    *at = t;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
    size_t len = strlen(me->said);
    va_list ap;
    failures++;
    if (len + 2 > SAID_MAX / 2) /* enough has been said */
        return;
    len += (size_t)snprintf(me->said + len, SAID_MAX / 4, "# %s:%d: ", file, line);
    va_start(ap, fmt);
    vsnprintf(me->said + len, SAID_MAX / 4 - 1, fmt, ap);
    va_end(ap);
    strcat(me->said, "\n");
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

static int nwanted(const char *pattern)
{
    int n = 0;
    for (const struct test *t = tests; t != NULL; t = t->next)
        n += wanted(t, pattern);
    return n;
}

static struct test *nth_wanted(const char *pattern, int n)
{
    struct test *t = tests;
    while (!wanted(t, pattern) || n-- > 0)
        t = t->next;
    return t;
}

/* Takes one test after the other until none is left; returns whether one failed. A test's lines are
 * written together. */
static bool work(struct board *b, struct worker *w, const char *pattern, int planned)
{
    bool failed = false;
    int i;
    me = w;
    while ((i = atomic_fetch_add(&b->next, 1)) < planned) {
        struct test *t = nth_wanted(pattern, i);
        w->test = i;
        w->said[0] = '\0';
        failures = 0;
        skipped = NULL;
        t->run();
        w->test = -1;
        failed |= failures > 0;
        sem_wait(&b->output);
        printf("%s%s %d - %s%s%s\n", w->said, failures ? "not ok" : "ok", i + 1, t->name,
               skipped ? " # SKIP " : "", skipped ? skipped : "");
        fflush(stdout);
        sem_post(&b->output);
    }
    return failed;
}

static volatile sig_atomic_t is_over; /* SIGTERM came: the time is up */

static void be_over(int signal)
{
    (void)signal;
    is_over = 1;
}

/* A test that ended its worker, or was running when the time was up, has failed: with what it had
 * found, and why. */
static void tell_unended(struct board *b, const struct worker *w, const char *pattern, int status)
{
    sem_wait(&b->output);
    if (is_over)
        printf("%s# it was running when the time was up\n", w->said);
    else
        printf("%s# it ended its process, whose status is %#x\n", w->said, (unsigned)status);
    printf("not ok %d - %s\n", w->test + 1, nth_wanted(pattern, w->test)->name);
    fflush(stdout);
    sem_post(&b->output);
}

/* Starts so many workers, and waits for all. What is left where all workers ended before runs here.
 * Returns main's status: 3 for a worker that failed while it was in no test. */
static int run_in_workers(struct board *b, int n, const char *pattern, int planned)
{
    struct sigaction action = {.sa_handler = be_over}; /* without SA_RESTART: ends waitpid() */
    pid_t pids[WORKERS_MAX];
    bool failed = false, outside = false;
    for (int i = 0; i < n; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where a test has left the process group */
            exit(work(b, &b->workers[i], pattern, planned));
        }
    }
    sigaction(SIGTERM, &action, NULL);
    for (int i = 0; i < n; i++) {
        const struct worker *w = &b->workers[i];
        int status = -1;
        while (pids[i] > 0 && !is_over && waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
            continue;
        failed |= status != 0;
        if (w->test >= 0)
            tell_unended(b, w, pattern, status);
        else
            outside |= !WIFEXITED(status) || WEXITSTATUS(status) > 1;
        failed |= w->test >= 0;
    }
    if (is_over)
        return 3;
    failed |= work(b, &b->workers[0], pattern, planned);
    return outside ? 3 : failed;
}

/* Runs the tests whose name or file contains argv[1], or all, two a core, since some only wait;
 * prints TAP, each test's lines when it has ended. */
int main(int argc, char **argv)
{
    const char *pattern = argc > 1 ? argv[1] : NULL;
    int planned = nwanted(pattern);
    long workers = 2 * sysconf(_SC_NPROCESSORS_ONLN);
    struct board *b =
        mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED || sem_init(&b->output, 1, 1) != 0)
        return 2;
    for (int i = 0; i < WORKERS_MAX; i++)
        b->workers[i].test = -1;
    printf("1..%d\n", planned);
    fflush(stdout);  /* once, not by each worker */
    if (planned < 2) /* as a debugger wants it */
        return work(b, &b->workers[0], pattern, planned);
    return run_in_workers(b, workers < WORKERS_MAX ? (int)workers : WORKERS_MAX, pattern, planned);
}
