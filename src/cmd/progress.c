/* SPDX-License-Identifier: MIT
 *
 * The bar on stderr while something long goes on (cmd.h).
 */
#include "cmd/cmd.h"

#include "base/buf.h"
#include "base/now.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define AGAIN_NS 100000000 /* between two redraws */
#define BAR 20             /* columns */
#define COLUMNS_MAX 512

void progress_start(struct progress_line *p, size_t total, enum color_when color)
{
    *p = (struct progress_line){.on = terminal_is_capable(stderr),
                                .color = color_is_on(color, stderr),
                                .total = total,
                                .start_ns = now_ns()};
}

static bool is_too_soon(const struct progress_line *p)
{
    return !p->on || (p->shown_ns != 0 && now_ns() - p->shown_ns < AGAIN_NS);
}

void progress_show(struct progress_line *p, size_t done, const char *what)
{
    double s = (double)progress_ns(p) / 1e9, rate = s > 0 ? (double)done / s : 0;
    struct buf rest = BUF_INIT;
    if (is_too_soon(p))
        return;
    buf_printf(&rest, " %zu/%zu  %.1f/s", done, p->total, rate);
    if (rate > 0) {
        long left = (long)((double)(p->total - done) / rate + 0.5);
        buf_printf(&rest, "  ETA %ld:%02ld:%02ld", left / 3600, left / 60 % 60, left % 60);
    }
    buf_puts(&rest, "  ");
    buf_put_printable(&rest, what, strlen(what));
    progress_draw(p, p->total > 0 ? (double)done / (double)p->total : 1, rest.data);
    buf_release(&rest);
}

int64_t progress_ns(const struct progress_line *p)
{
    return now_ns() - p->start_ns;
}

void progress_draw(struct progress_line *p, double share, const char *rest)
{
    struct buf bar = BUF_INIT;
    struct winsize size;
    size_t columns = 80, len = strlen(rest), filled = (size_t)(share * BAR), room;
    if (is_too_soon(p))
        return;
    p->shown_ns = now_ns();
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
        columns = size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
    buf_putc(&bar, '[');
    for (size_t i = 0; i < BAR; i++)
        buf_putc(&bar, i < filled ? '=' : ' ');
    buf_putc(&bar, ']');
    room = columns > bar.len + 1 ? columns - bar.len - 1 : 0; /* the last column makes some wrap */
    fprintf(stderr, "\r%s%s%s%.*s\033[K", p->color ? "\033[32m" : "", bar.data,
            p->color ? "\033[0m" : "", (int)(len < room ? len : room), rest);
    fflush(stderr);
    buf_release(&bar);
}

void progress_end(struct progress_line *p)
{
    if (p->on && p->shown_ns != 0)
        fputs("\r\033[K", stderr);
    p->on = false;
}
