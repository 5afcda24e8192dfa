/* SPDX-License-Identifier: MIT */
#include "cmd/interrupt.h"

#include "base/whole_file.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool on_terminal; /* a progress bar may be there */

static void put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* there is no other place to tell it */
}

/* timeout(1) sends a signal twice, and another thread may take the second one. */
static atomic_flag taken = ATOMIC_FLAG_INIT;

static void on_signal(int number)
{
    if (atomic_flag_test_and_set(&taken))
        return;
    whole_file_remove_begun();
    if (on_terminal)
        put("\r\033[K");
    put("specter: interrupted, no result; files are whole, or as they were before\n");
    signal(number, SIG_DFL);
    raise(number); /* ends the process when the handler returns */
}

void interrupt_catch(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction had, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    on_terminal = isatty(STDERR_FILENO);
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        if (sigaction(ending[i], NULL, &had) == 0 && had.sa_handler == SIG_DFL)
            sigaction(ending[i], &ours, NULL);
    }
}
