/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

static int stands_for = -1;

void terminal_set_stdout(int fd)
{
    stands_for = fd;
}

static int descriptor_of(FILE *out)
{
    int fd = fileno(out);
    return fd == STDOUT_FILENO && stands_for >= 0 ? stands_for : fd;
}

bool terminal_is(FILE *out)
{
    return isatty(descriptor_of(out));
}

static struct winsize size_of(FILE *out)
{
    struct winsize size = {0};
    if (ioctl(descriptor_of(out), TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    return size;
}

size_t terminal_columns(FILE *out)
{
    return size_of(out).ws_col;
}

size_t terminal_rows(FILE *out)
{
    return size_of(out).ws_row;
}
