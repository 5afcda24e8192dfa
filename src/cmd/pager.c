/* SPDX-License-Identifier: MIT */
#include "cmd/pager.h"

#include "base/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS_USUAL 24 /* of a terminal that does not tell */

static struct {
    int terminal, held; /* descriptors; -1: no text is held back */
    const char *program;
} pager = {.terminal = -1, .held = -1};

/* NULL: none is wanted. */
static const char *chosen_program(void)
{
    const char *term = getenv("TERM"), *program = getenv("PAGER");
    if (term == NULL || strcmp(term, "dumb") == 0)
        return NULL;
    if (program == NULL)
        return "less";
    return program[0] != '\0' && strcmp(program, "cat") != 0 ? program : NULL;
}

static void show_at_exit(void)
{
    pager_end();
}

void pager_begin(void)
{
    static bool registered;
    pager.program = chosen_program();
    if (pager.program == NULL || pager.held >= 0 || !isatty(STDOUT_FILENO))
        return;
    pager.terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    pager.held = memfd_create("specter-output", MFD_CLOEXEC);
    if (pager.terminal < 0 || pager.held < 0 || dup2(pager.held, STDOUT_FILENO) < 0) {
        if (pager.terminal >= 0)
            close(pager.terminal);
        if (pager.held >= 0)
            close(pager.held);
        pager.terminal = pager.held = -1;
        return;
    }
    terminal_set_stdout(pager.terminal);
    if (!registered)
        atexit(show_at_exit);
    registered = true;
}

static bool is_longer_than_screen(void)
{
    size_t rows = terminal_rows(stdout), lines = 0;
    char block[4096];
    ssize_t n;
    off_t at = 0;
    for (; (n = pread(pager.held, block, sizeof block, at)) > 0; at += n) {
        for (ssize_t i = 0; i < n; i++)
            lines += block[i] == '\n';
    }
    return lines >= (rows > 0 ? rows : ROWS_USUAL);
}

/* Returns whether the pager ran. Ctrl-C is its business meanwhile. */
static bool run_pager(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int status = 0;
    pid_t child;
    sigaction(SIGINT, &ignore, &before);
    child = fork();
    if (child == 0) {
        sigaction(SIGINT, &before, NULL);
        setenv("LESS", "FRX", 0);
        if (lseek(pager.held, 0, SEEK_SET) == 0 && dup2(pager.held, STDIN_FILENO) >= 0)
            execlp("sh", "sh", "-c", pager.program, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &before, NULL);
    return child > 0 &&
           !(WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127));
}

static bool copy_held(void)
{
    char block[4096];
    ssize_t n, done;
    off_t at = 0;
    for (; (n = pread(pager.held, block, sizeof block, at)) > 0; at += n) {
        for (ssize_t from = 0; from < n; from += done) {
            done = write(STDOUT_FILENO, block + from, (size_t)(n - from));
            if (done < 0 && errno != EINTR)
                return false;
            done = done < 0 ? 0 : done;
        }
    }
    return true;
}

bool pager_end(void)
{
    bool longer, written;
    int why;
    if (pager.held < 0)
        return true;
    written = fflush(stdout) == 0;
    longer = is_longer_than_screen();
    dup2(pager.terminal, STDOUT_FILENO);
    terminal_set_stdout(-1);
    if (!longer || !run_pager())
        written = copy_held() && written;
    why = errno;
    close(pager.terminal);
    close(pager.held);
    pager.terminal = pager.held = -1;
    errno = why;
    return written;
}
