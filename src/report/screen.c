/* SPDX-License-Identifier: MIT */
#include "report/screen.h"

#include "base/err.h"
#include "base/opt.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *set_or_null(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* As the C library chooses the locale of characters. */
static bool has_utf8(void)
{
    const char *locale = set_or_null("LC_ALL");
    if (locale == NULL)
        locale = set_or_null("LC_CTYPE");
    if (locale == NULL)
        locale = set_or_null("LANG");
    return locale != NULL && (strcasestr(locale, "UTF-8") || strcasestr(locale, "utf8"));
}

void screen_init(struct screen *s, FILE *out, enum color_when color)
{
    *s = (struct screen){.out = out,
                         .width = terminal_width(out),
                         .color = color_is_on(color, out),
                         .utf8 = has_utf8(),
                         .text = BUF_INIT};
}

void screen_release(struct screen *s)
{
    fwrite(s->text.data, 1, s->text.len, s->out);
    buf_release(&s->text);
}

size_t screen_left(const struct screen *s)
{
    return s->lines < SCREEN_LINES ? SCREEN_LINES - s->lines : 0;
}

/* Wraps text into a string, as opt_wrap_at() does; the caller frees it. */
static char *wrap(const struct screen *s, const char *text, size_t indent)
{
    char *wrapped = NULL;
    size_t size;
    FILE *out = open_memstream(&wrapped, &size);
    if (out == NULL)
        die("out of memory");
    opt_wrap_at(text, 0, indent, s->width, out);
    fclose(out);
    return wrapped;
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

size_t screen_height(const struct screen *s, const char *text, size_t indent)
{
    char *wrapped = wrap(s, text, indent);
    size_t n = lines_of(wrapped);
    free(wrapped);
    return n;
}

void screen_line(struct screen *s, enum screen_style style, const char *text, size_t indent)
{
    static const char *const begin[] = {"", "\033[1m", "\033[1;31m", "\033[2m"};
    char *wrapped = wrap(s, text, indent);
    bool styled = s->color && style != SCREEN_PLAIN && text[0] != '\0';
    buf_puts(&s->text, styled ? begin[style] : "");
    buf_put(&s->text, wrapped, strlen(wrapped) - 1);
    buf_puts(&s->text, styled ? "\033[0m\n" : "\n");
    s->lines += lines_of(wrapped);
    free(wrapped);
}

void screen_row(struct screen *s, const char *text)
{
    buf_puts(&s->text, text);
    buf_putc(&s->text, '\n');
    s->lines++;
}

void screen_table(struct screen *s, const struct table *t)
{
    char *printed = NULL, *save = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    if (out == NULL)
        die("out of memory");
    table_print_within(t, s->width, out);
    fclose(out);
    for (char *line = strtok_r(printed, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save))
        screen_row(s, line);
    free(printed);
}
