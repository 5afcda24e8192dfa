/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include "base/err.h"
#include "base/opt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

size_t terminal_width(FILE *out)
{
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    if (width <= 0)
        width = (long)terminal_columns(out);
    if (width <= 0)
        width = OPT_COLUMNS;
    return (size_t)(width < TERMINAL_WIDTH_MIN   ? TERMINAL_WIDTH_MIN
                    : width > TERMINAL_WIDTH_MAX ? TERMINAL_WIDTH_MAX
                                                 : width);
}

size_t terminal_line_width(FILE *out)
{
    return terminal_is(out) ? terminal_width(out) : SIZE_MAX;
}

bool terminal_is_capable(FILE *out)
{
    const char *term = getenv("TERM");
    return terminal_is(out) && term != NULL && strcmp(term, "dumb") != 0;
}

int color_parse(const char *when, enum color_when *color, struct err *e)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    static const enum color_when meant[] = {COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER};
    const int word = when != NULL ? opt_word("--color", when, words, e) : 0;
    if (word < 0)
        return -1;
    *color = meant[word];
    return 0;
}

bool color_is_on(enum color_when when, FILE *out)
{
    const char *none = getenv("NO_COLOR");
    if (when != COLOR_AUTO)
        return when == COLOR_ALWAYS;
    return terminal_is_capable(out) && (none == NULL || none[0] == '\0');
}
