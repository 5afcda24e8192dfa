/* SPDX-License-Identifier: MIT */
#include "report/table.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"
#include "base/terminal.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2 /* before the first column, and between columns */
#define ELLIPSIS "..."

/* Length in bytes of the UTF-8 character at p, its code point in *code; 0 when it is none. */
static size_t utf8_decode(const unsigned char *p, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
    if (len == 0 || p[0] >= 0xf8)
        return 0;
    *code = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) /* the end of the string fails here too */
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    if (*code < smallest[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return 0;
    return len;
}

/* Control characters move the cursor, bidirectional ones make a line read as another one. */
static bool is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff;
}

static size_t columns(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80; /* bytes that start a character */
    return n;
}

/* Appends `text`, made safe, in at most `max` columns. */
static void put_safe(struct buf *b, const char *text, size_t max)
{
    size_t mark = 0, n = 0; /* where the text ends when an ellipsis has to follow */
    const unsigned char *p = (const unsigned char *)text;
    while (*p != '\0' && n <= max) {
        uint32_t code = 0;
        size_t len = utf8_decode(p, &code);
        if (n + strlen(ELLIPSIS) <= max)
            mark = b->len;
        if (n++ == max)
            break;
        if (len == 0 || is_unsafe(code))
            buf_putc(b, '?');
        else
            buf_put(b, p, len);
        p += len > 0 ? len : 1;
    }
    if (*p == '\0')
        return;
    b->len = mark;
    if (max >= strlen(ELLIPSIS))
        buf_puts(b, ELLIPSIS);
}

void table_init(struct table *t)
{
    memset(t, 0, sizeof *t);
}

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->ncells; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->heads);
    table_init(t);
}

void table_column(struct table *t, const char *title, enum table_align align)
{
    ARRAY_GROW(t->heads, t->cap_heads, t->nheads + 1);
    t->heads[t->nheads++] = (struct table_head){title, align, false};
}

void table_optional(struct table *t)
{
    t->heads[t->nheads - 1].optional = true;
}

/* Keeps a copy of the text. */
static void add_cell(struct table *t, const char *text)
{
    size_t size = strlen(text) + 1;
    ARRAY_GROW(t->cells, t->cap_cells, t->ncells + 1);
    char *copy = array_new(size, 1);
    memcpy(copy, text, size);
    t->cells[t->ncells++] = copy;
}

void table_cell(struct table *t, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    add_cell(t, b.data);
    buf_release(&b);
}

void table_text(struct table *t, const char *text, size_t max)
{
    struct buf b = BUF_INIT;
    put_safe(&b, text, max);
    buf_putc(&b, '\0');
    add_cell(t, b.data);
    buf_release(&b);
}

/* One cell; spaces that are due are kept in *owed until something follows them. */
static void print_cell(FILE *out, const char *text, size_t width, enum table_align align,
                       size_t *owed)
{
    size_t n = columns(text), fill = width - n;
    if (align == TABLE_RIGHT)
        *owed += fill;
    if (n > 0) {
        fprintf(out, "%*s%s", (int)*owed, "", text);
        *owed = 0;
    }
    if (align == TABLE_LEFT)
        *owed += fill;
    *owed += INDENT;
}

/* Layout of a table's columns on lines of `room` columns. */
struct table_fit {
    size_t *width; /* owned; 0: a column that is left out */
    size_t room;
    bool flows;        /* the last column is text, and is broken where the line ends */
    struct buf absent; /* columns that had to be left out though they are not optional */
};

/* Text of a last column goes on in further lines rather than being left out. */
#define FLOW_LEAST 20

/* Returns what all columns take of a line, each with its indent. */
static size_t find_widths(const struct table *t, size_t *width)
{
    size_t total = 0;
    for (size_t c = 0; c < t->nheads; c++) {
        width[c] = columns(t->heads[c].title);
        for (size_t at = c; at < t->ncells; at += t->nheads) {
            size_t n = columns(t->cells[at]);
            width[c] = n > width[c] ? n : width[c];
        }
        total += INDENT + width[c];
    }
    return total;
}

/* Optional columns from the right, without a word. Returns what the others take. */
static size_t leave_out_optional(const struct table *t, size_t room, size_t *width, size_t total)
{
    for (size_t c = t->nheads; total > room && c-- > 0;) {
        if (!t->heads[c].optional)
            continue;
        total -= INDENT + width[c];
        width[c] = 0;
    }
    return total;
}

/* Columns from the right, which are named: but one stays. */
static void leave_out(const struct table *t, struct table_fit *fit, size_t total)
{
    size_t first = 0, end = t->nheads;
    while (fit->width[first] == 0 && first + 1 < end)
        first++;
    while (total > fit->room && end > first + 1) {
        end--;
        total -= fit->width[end] > 0 ? INDENT + fit->width[end] : 0;
    }
    for (size_t c = end; c < t->nheads; c++) {
        if (fit->width[c] > 0)
            buf_printf(&fit->absent, "%s%s", fit->absent.len > 0 ? ", " : "", t->heads[c].title);
        fit->width[c] = 0;
    }
}

static struct table_fit fit_within(const struct table *t, size_t room)
{
    struct table_fit fit = {
        .width = array_new(t->nheads, sizeof *fit.width), .room = room, .absent = BUF_INIT};
    const size_t last = t->nheads - 1;
    size_t total = find_widths(t, fit.width);
    total = leave_out_optional(t, room, fit.width, total);
    fit.flows = total > room && t->heads[last].align == TABLE_LEFT &&
                total - fit.width[last] + FLOW_LEAST <= room;
    if (!fit.flows)
        leave_out(t, &fit, total);
    return fit;
}

static void print_row(const struct table *t, const struct table_fit *l, size_t first, FILE *out)
{
    size_t owed = INDENT, begin = INDENT;
    for (size_t c = 0; c < t->nheads && first + c < t->ncells; c++) {
        const char *text = t->cells[first + c];
        if (l->width[c] == 0)
            continue;
        if (c + 1 == t->nheads && l->flows && text[0] != '\0') {
            fprintf(out, "%*s", (int)owed, "");
            opt_wrap_at(text, begin, begin, l->room, out);
            return;
        }
        print_cell(out, text, l->width[c], t->heads[c].align, &owed);
        begin += l->width[c] + INDENT;
    }
    fputc('\n', out);
}

void table_print_within(const struct table *t, size_t room, FILE *out)
{
    size_t owed = INDENT, column = INDENT;
    if (t->nheads == 0)
        return;
    struct table_fit l = fit_within(t, room);
    for (size_t c = 0; c < t->nheads; c++) {
        if (l.width[c] > 0)
            print_cell(out, t->heads[c].title, l.width[c], t->heads[c].align, &owed);
    }
    fputc('\n', out);
    for (size_t c = 0; c < t->nheads; c++) {
        if (l.width[c] > 0)
            fprintf(out, "%*s", INDENT, "");
        for (size_t k = 0; k < l.width[c] && (!l.flows || column + k < room); k++)
            fputc('-', out);
        column += l.width[c] > 0 ? l.width[c] + INDENT : 0;
    }
    fputc('\n', out);
    for (size_t first = 0; first < t->ncells; first += t->nheads)
        print_row(t, &l, first, out);
    if (l.absent.len > 0) {
        fputs("  too narrow for: ", out);
        opt_wrap_at(l.absent.data, 18, 4, room, out);
    }
    free(l.width);
    buf_release(&l.absent);
}

void table_print(const struct table *t, FILE *out)
{
    table_print_within(t, terminal_line_width(out), out);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Within a word an underscore is none of emphasis. */
static bool has_meaning(const char *text, size_t at)
{
    if (text[at] == '_')
        return at == 0 || !is_word(text[at - 1]) || !is_word(text[at + 1]);
    return strchr("|<\\`*[]~&", text[at]) != NULL;
}

void markdown_text(const char *text, FILE *out)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (has_meaning(text, i))
            fputc('\\', out);
        fputc(text[i], out);
    }
}

void table_print_markdown(const struct table *t, FILE *out)
{
    for (size_t c = 0; c < t->nheads; c++)
        fprintf(out, "%s %s", c == 0 ? "|" : " |", t->heads[c].title);
    fputs(t->nheads > 0 ? " |\n" : "", out);
    for (size_t c = 0; c < t->nheads; c++)
        fputs(t->heads[c].align == TABLE_RIGHT ? "| ---: " : "| --- ", out);
    fputs(t->nheads > 0 ? "|" : "", out);
    for (size_t i = 0; i < t->ncells; i++) {
        fputs(i % t->nheads == 0 ? (i == 0 ? "\n| " : " |\n| ") : " | ", out);
        markdown_text(t->cells[i], out);
    }
    fputs(t->ncells > 0 ? " |\n" : t->nheads > 0 ? "\n" : "", out);
}

struct unit {
    const char *name;
    double size;
};

/* Three significant digits with their zeros: 1.20, 12.3, 123, 1234. */
static int decimals(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

/* The largest unit in which the value, as it will be shown, is at least 1. */
static const struct unit *unit_for(const struct unit *units, size_t n, double value, double next)
{
    size_t i = 0;
    while (i + 1 < n && value / units[i].size >= next)
        i++;
    return &units[i];
}

/* Beyond its largest unit a number of any size stays short enough for every buffer. */
#define DIGITS_END 999999.5

char *text_ns(char *buf, size_t size, double ns)
{
    static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const struct unit *u = unit_for(units, sizeof units / sizeof *units, fabs(ns), 999.5);
    double value = ns / u->size;
    if (!isfinite(ns))
        snprintf(buf, size, "-");
    else if (u == units)
        snprintf(buf, size, "%.0f ns", value);
    else if (fabs(value) >= DIGITS_END)
        snprintf(buf, size, "%.3g %s", value, u->name);
    else
        snprintf(buf, size, "%.*f %s", decimals(fabs(value)), value, u->name);
    return buf;
}

double without_minus(double value, int decimals)
{
    return value < 0 && -value * pow(10, decimals) < 0.5 ? 0 : value;
}

struct time_unit time_unit_for(double longest_ns)
{
    if (longest_ns < 10e6)
        return (struct time_unit){"us", 1e3, 1};
    return longest_ns < 10e9 ? (struct time_unit){"ms", 1e6, 2} : (struct time_unit){"s", 1e9, 2};
}

char *text_bytes(char *buf, size_t size, double bytes)
{
    static const struct unit units[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                        {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}};
    const struct unit *u = unit_for(units, sizeof units / sizeof *units, fabs(bytes), 1023.5);
    double value = bytes / u->size;
    if (!isfinite(bytes))
        snprintf(buf, size, "-");
    else if (fabs(value) >= 999.5 && fabs(value) < DIGITS_END)
        snprintf(buf, size, "%.0f %s", value, u->name);
    else
        snprintf(buf, size, "%.3g %s", value, u->name);
    return buf;
}

char *text_safe(char *buf, size_t size, const char *text, size_t max)
{
    struct buf b = BUF_INIT;
    put_safe(&b, text, max);
    buf_putc(&b, '\0');
    snprintf(buf, size, "%s", b.data);
    buf_release(&b);
    return buf;
}

char *text_safe_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    return text_safe(array_new(size, 1), size, text, size);
}

void csv_put_text(struct buf *out, const char *text)
{
    char *safe = text_safe_copy(text);
    const char *quote = strpbrk(text, ",\"\r\n") != NULL ? "\"" : "";
    buf_puts(out, quote);
    if (text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL)
        buf_putc(out, '\'');
    for (const char *p = safe; *p != '\0'; p++) {
        if (*p == '"')
            buf_putc(out, '"');
        buf_putc(out, *p);
    }
    buf_puts(out, quote);
    free(safe);
}
