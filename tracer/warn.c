/* SPDX-License-Identifier: MIT
 *
 * The one line that the tracer may print to the program's stderr (tracer.h).
 */
#include "tracer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct stat at_start; /* what stderr was when the library was loaded */
static bool open_at_start;
static atomic_flag spent = ATOMIC_FLAG_INIT;

__attribute__((constructor)) static void remember_stderr(void)
{
    int saved = errno;
    open_at_start = fstat(STDERR_FILENO, &at_start) == 0;
    errno = saved;
}

static bool stderr_is_usable(void)
{
    struct stat now;
    struct pollfd p = {STDERR_FILENO, POLLOUT, 0};
    return open_at_start && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == at_start.st_dev &&
           now.st_ino == at_start.st_ino && poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
}

/* A write to a pipe without a reader, or to a terminal from the background, raises a signal that
 * would end or stop the program; so does one beyond the limit on file sizes. */
static void write_quietly(const char *text, size_t len)
{
    const struct timespec at_once = {0, 0};
    sigset_t ours, before, pending;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGTTOU);
    sigaddset(&ours, SIGXFSZ);
    sigpending(&pending);
    if (pthread_sigmask(SIG_BLOCK, &ours, &before) != 0)
        return;
    if (write(STDERR_FILENO, text, len) < 0 && !sigismember(&pending, SIGPIPE) &&
        !sigismember(&pending, SIGXFSZ)) {
        while (sigtimedwait(&ours, NULL, &at_once) > 0)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void warn_once(const char *part, ...)
{
    char line[512] = "specter: ";
    size_t len = strlen(line);
    int saved = errno;
    va_list ap;
    if (atomic_flag_test_and_set(&spent) || !stderr_is_usable())
        goto out;
    va_start(ap, part);
    for (; part != NULL; part = va_arg(ap, const char *)) {
        size_t add = strnlen(part, sizeof line - 2 - len);
        memcpy(line + len, part, add);
        len += add;
    }
    va_end(ap);
    line[len++] = '\n';
    write_quietly(line, len);
out:
    errno = saved;
}

void warn_reset(void)
{
    atomic_flag_clear(&spent);
}
