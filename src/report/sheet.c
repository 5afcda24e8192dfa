/* SPDX-License-Identifier: MIT */
#include "report/sheet.h"

#include "base/buf.h"
#include "base/opt.h"
#include "base/order.h"
#include "base/terminal.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMNS 42
#define WHOLE_COLUMNS 1000 /* of text that is not cut: names of templates have no end */

static const double divisors[] = {
#define X(id, divisor) divisor,
    SHEET_UNITS(X)
#undef X
};

void sheet_init(struct sheet *s, const char *name, const char *title,
                const struct sheet_column *columns, size_t ncolumns)
{
    memset(s, 0, sizeof *s);
    arena_init(&s->arena);
    s->name = name;
    s->title = title;
    s->columns = columns;
    s->ncolumns = ncolumns;
}

void sheet_release(struct sheet *s)
{
    free(s->cells);
    free(s->notes);
    arena_release(&s->arena);
}

static struct sheet_cell *add_cell(struct sheet *s)
{
    ARRAY_GROW(s->cells, s->cap_cells, s->ncells + 1);
    return &s->cells[s->ncells++];
}

void sheet_text(struct sheet *s, const char *text)
{
    const char *copy = arena_strdup(&s->arena, text != NULL ? text : "");
    *add_cell(s) = (struct sheet_cell){copy, NAN};
}

void sheet_number(struct sheet *s, double value)
{
    *add_cell(s) = (struct sheet_cell){NULL, value};
}

void sheet_note(struct sheet *s, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list args;
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    ARRAY_GROW(s->notes, s->cap_notes, s->nnotes + 1);
    s->notes[s->nnotes++] = arena_strndup(&s->arena, text.data, text.len);
    buf_release(&text);
}

size_t sheet_rows(const struct sheet *s)
{
    return s->ncells / s->ncolumns;
}

/* ---- columns of text ----
 *
 * Texts of a table's column in at most so many columns of a terminal, so that different texts stay
 * different: names of C++ kernels often differ in their last template argument only. A text that
 * is too long ends in "..."; where another one would then read the same, it keeps its end instead
 * of its middle, and where that does not do, either, it gets a number: "kernel<int, ... (2)". */

#define ELLIPSIS "..."
#define NUMBER_COLUMNS 8 /* of " (12345)", at most */

/* A text, sorted beside those that read the same. */
struct cut {
    const char *shown, *text, *whole;
    size_t at;
};

/* Ways to make texts differ that read the same, the plainest first. */
enum cut_style { CUT_TO_ENDS, CUT_WHOLE_TO_ENDS, CUT_AND_NUMBER, CUT_STYLES };

static int by_shown(const void *pa, const void *pb)
{
    const struct cut *a = pa, *b = pb;
    int order = strcmp(a->shown, b->shown);
    if (order == 0)
        order = strcmp(a->whole, b->whole);
    return order != 0 ? order : ORDER(a->at, b->at);
}

/* All of a text, made safe_text: no character of it becomes longer by that. */
static char *safe_text(struct arena *arena, const char *text, size_t max)
{
    size_t size = strlen(text) + sizeof ELLIPSIS;
    return text_safe(arena_alloc(arena, size), size, text, max);
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* The last `columns` characters. */
static const char *tail_of(const char *text, size_t columns)
{
    const char *p = text + strlen(text);
    while (p > text && columns > 0)
        columns -= starts_character(*--p);
    return p;
}

/* Bytes of the first `columns` characters. */
static int head_of(const char *text, size_t columns)
{
    const char *p = text;
    while (*p != '\0' && (columns > 0 || !starts_character(*p)))
        columns -= starts_character(*p++);
    return (int)(p - text);
}

/* Begin and end of the text: "void kernel<...int, 4>". */
static const char *cut_middle(struct arena *arena, const char *text, size_t max)
{
    const char *all = safe_text(arena, text, strlen(text));
    size_t left = max - strlen(ELLIPSIS), head = left / 2;
    if (max <= strlen(ELLIPSIS) || all[head_of(all, max)] == '\0')
        return all;
    return arena_printf(arena, "%.*s" ELLIPSIS "%s", head_of(all, head), all,
                        tail_of(all, left - head));
}

/* Of list[0..n), which read the same: shows more of those whose whole texts differ. */
static void distinguish(struct arena *arena, struct cut *list, size_t n, size_t max,
                        enum cut_style style)
{
    size_t number = 0;
    if (strcmp(list[0].whole, list[n - 1].whole) == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        struct cut *c = &list[i];
        number += i == 0 || strcmp(c->whole, list[i - 1].whole) != 0;
        if (style == CUT_AND_NUMBER) {
            size_t room = max > NUMBER_COLUMNS ? max - NUMBER_COLUMNS : 0;
            c->shown = arena_printf(arena, "%.*s (%zu)", head_of(c->shown, room), c->shown, number);
        } else {
            c->shown = cut_middle(arena, style == CUT_TO_ENDS ? c->text : c->whole, max);
        }
    }
}

/* Replaces each of `shown` by what is to be printed, safe for a terminal, in the arena. whole[i]
 * tells which texts are the same: shown[i] may be a shorter form of it. */
static void cut_texts(struct arena *arena, const char **shown, const char *const *whole, size_t n,
                      size_t max)
{
    struct cut *list = array_new(n, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = (struct cut){safe_text(arena, shown[i], max), shown[i], whole[i], i};
    for (int style = 0; style < CUT_STYLES && n > 0; style++) {
        qsort(list, n, sizeof *list, by_shown);
        for (size_t first = 0, end; first < n; first = end) {
            const char *text = list[first].shown;
            for (end = first + 1; end < n && strcmp(list[end].shown, text) == 0;)
                end++;
            distinguish(arena, &list[first], end - first, max, (enum cut_style)style);
        }
    }
    for (size_t i = 0; i < n; i++)
        shown[list[i].at] = list[i].shown;
    free(list);
}

/* ---- for people ---- */

/* Of all times of a sheet that are in SHEET_NS; without a name where there are none. */
static struct time_unit scale_of(const struct sheet *s, size_t rows)
{
    double longest = -1;
    for (size_t i = 0; i < rows * s->ncolumns; i++) {
        const struct sheet_column *column = &s->columns[i % s->ncolumns];
        double ns = fabs(s->cells[i].number);
        if (column->unit == SHEET_NS && column->heading != NULL && isfinite(ns) && ns > longest)
            longest = ns;
    }
    struct time_unit unit = time_unit_for(longest);
    if (longest < 0)
        unit.name = NULL;
    return unit;
}

static void number_cell(struct table *t, enum sheet_unit unit, const struct time_unit *scale,
                        double value)
{
    char text[32];
    if (!isfinite(value))
        table_cell(t, "-");
    else if (unit == SHEET_NS)
        table_cell(t, "%.*f", scale->decimals, without_minus(value / scale->ns, scale->decimals));
    else if (unit == SHEET_TIME)
        table_cell(t, "%s", text_ns(text, sizeof text, value));
    else if (unit == SHEET_BYTES)
        table_cell(t, "%s", text_bytes(text, sizeof text, value));
    else if (unit == SHEET_SHARE)
        table_cell(t, fabs(value) < 0.0995 ? "%.1f %%" : "%.0f %%", without_minus(100 * value, 1));
    else if (unit == SHEET_RATE)
        table_cell(t, value < 9.995 ? "%.2f" : value < 99999.95 ? "%.1f" : "%.0e", value);
    else
        table_cell(t, "%.0f", value);
}

static const char *text_for_people(const char *text, const struct sheet_column *column,
                                   struct arena *arena)
{
    char *name;
    if (column->unit != SHEET_NAME)
        return text;
    name = arena_strdup(arena, text);
    /* A C++ kernel's name without its return type and its namespaces, which fill a line and tell
     * little: "void at::native::reduce_kernel<512, ...>" becomes "reduce_kernel<512, ...>". In
     * place. */
    static const char unnamed[] = "(anonymous namespace)";
    const size_t len = sizeof unnamed - 1;
    char *out = name;
    const char *in = strncmp(name, "void ", 5) == 0 ? name + 5 : name;
    for (; *in != '\0'; in++) {
        if (in[0] != ':' || in[1] != ':') {
            *out++ = *in;
            continue;
        }
        in++;
        if ((size_t)(out - name) >= len && memcmp(out - len, unnamed, len) == 0)
            out -= len;
        while (out > name && (isalnum((unsigned char)out[-1]) || out[-1] == '_'))
            out--;
    }
    *out = '\0';
    return name;
}

/* Of the texts of a column what is printed of each, by row; NULL where it has a number. Whole: in
 * full, as far as that goes. */
static const char **text_of_column(const struct sheet *s, size_t c, size_t rows, bool whole,
                                   struct arena *arena)
{
    const struct sheet_column *column = &s->columns[c];
    const char **shown = arena_alloc(arena, rows * sizeof *shown);
    const char **texts = arena_alloc(arena, rows * sizeof *texts);
    size_t *row = arena_alloc(arena, rows * sizeof *row), n = 0;
    const char **cut = arena_alloc(arena, rows * sizeof *cut);
    size_t max = whole ? WHOLE_COLUMNS : column->max > 0 ? (size_t)column->max : TEXT_COLUMNS;
    for (size_t i = 0; i < rows; i++) {
        const char *text = s->cells[i * s->ncolumns + c].text;
        if (text == NULL)
            continue;
        row[n] = i;
        texts[n] = text[0] != '\0' ? text : "-";
        cut[n] = text_for_people(texts[n], column, arena);
        n++;
    }
    cut_texts(arena, cut, texts, n, max);
    for (size_t i = 0; i < n; i++)
        shown[row[i]] = cut[i];
    return shown;
}

/* Returns the name of the unit of times; NULL. */
static const char *fill_table(const struct sheet *s, size_t rows, bool whole, struct table *t)
{
    struct time_unit scale = scale_of(s, rows);
    struct arena arena;
    const char ***texts;
    arena_init(&arena);
    texts = arena_alloc(&arena, s->ncolumns * sizeof *texts);
    for (size_t c = 0; c < s->ncolumns; c++) {
        const struct sheet_column *column = &s->columns[c];
        if (column->heading == NULL)
            continue;
        bool text = column->unit == SHEET_TEXT || column->unit == SHEET_NAME;
        table_column(t, column->heading, text ? TABLE_LEFT : TABLE_RIGHT);
        texts[c] = text_of_column(s, c, rows, whole, &arena);
    }
    for (size_t i = 0; i < rows * s->ncolumns; i++) {
        const struct sheet_column *column = &s->columns[i % s->ncolumns];
        if (column->heading == NULL)
            continue;
        if (s->cells[i].text != NULL)
            table_cell(t, "%s", texts[i % s->ncolumns][i / s->ncolumns]);
        else
            number_cell(t, column->unit, &scale, s->cells[i].number);
    }
    arena_release(&arena);
    return scale.name;
}

const char *sheet_table(const struct sheet *s, size_t rows, struct table *t)
{
    size_t all = sheet_rows(s);
    return fill_table(s, rows < all ? rows : all, true, t);
}

/* The first `rows` rows as a table; the title, with the unit that its times are in. */
static struct buf titled_table(const struct sheet *s, size_t rows, struct table *t)
{
    struct buf title = BUF_INIT;
    table_init(t);
    const char *unit = fill_table(s, rows, false, t);
    buf_printf(&title, "%s%s%s", s->title, unit != NULL ? ", " : "", unit != NULL ? unit : "");
    return title;
}

void sheet_print(const struct sheet *s, size_t rows, FILE *out)
{
    size_t all = sheet_rows(s);
    if (all == 0)
        return;
    struct table t;
    struct buf title = titled_table(s, all < rows ? all : rows, &t);
    fputc('\n', out);
    opt_wrap_at(title.data, 0, 0, terminal_line_width(out), out);
    table_print(&t, out);
    table_release(&t);
    buf_release(&title);
    if (all > rows)
        fprintf(out, "  and %zu more (--table %s)\n", all - rows, s->name);
    for (size_t i = 0; i < s->nnotes; i++) {
        fputs("  ", out);
        opt_wrap(s->notes[i], 2, 2, out);
    }
}

void sheet_markdown(const struct sheet *s, FILE *out)
{
    if (sheet_rows(s) == 0)
        return;
    struct table t;
    struct buf title = titled_table(s, sheet_rows(s), &t);
    fprintf(out, "\n## %s\n\n", title.data);
    table_print_markdown(&t, out);
    table_release(&t);
    buf_release(&title);
    for (size_t i = 0; i < s->nnotes; i++) {
        fputc('\n', out);
        markdown_text(s->notes[i], out);
        fputc('\n', out);
    }
}

/* ---- for programs ---- */

void sheet_csv(const struct sheet *s, FILE *out)
{
    const char *before = "";
    for (size_t c = 0; c < s->ncolumns; c++) {
        if (s->columns[c].key != NULL) {
            fprintf(out, "%s%s", before, s->columns[c].key);
            before = ",";
        }
    }
    for (size_t i = 0; i < s->ncells; i++) {
        if (i % s->ncolumns == 0)
            before = "\n";
        if (s->columns[i % s->ncolumns].key == NULL)
            continue;
        fputs(before, out);
        before = ",";
        /* Whole numbers as such, others with all digits that a double holds. */
        const struct sheet_cell *cell = &s->cells[i];
        double value = cell->number / divisors[s->columns[i % s->ncolumns].unit];
        struct buf text = BUF_INIT;
        if (cell->text != NULL)
            csv_put_text(&text, cell->text);
        else if (value == floor(value) && fabs(value) < 1e15)
            buf_printf(&text, "%.0f", value);
        else if (isfinite(value))
            buf_printf(&text, "%.15g", value);
        fwrite(text.data, 1, text.len, out);
        buf_release(&text);
    }
    putc('\n', out);
}

static cJSON *json_cell(const struct sheet_cell *cell, enum sheet_unit unit)
{
    cJSON *item;
    char *safe;
    if (cell->text == NULL)
        return isfinite(cell->number) ? cJSON_CreateNumber(cell->number / divisors[unit])
                                      : cJSON_CreateNull();
    if (cell->text[0] == '\0')
        return cJSON_CreateNull();
    safe = text_safe_copy(cell->text);
    item = cJSON_CreateString(safe);
    free(safe);
    return item;
}

size_t sheet_json_rows(const struct sheet *s)
{
    size_t all = sheet_rows(s);
    return s->json_rows > 0 && s->json_rows < all ? s->json_rows : all;
}

struct cJSON *sheet_json_row(const struct sheet *s, size_t row)
{
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < s->ncolumns; i++) {
        const struct sheet_column *column = &s->columns[i];
        if (column->key != NULL)
            cJSON_AddItemToObject(object, column->key,
                                  json_cell(&s->cells[row * s->ncolumns + i], column->unit));
    }
    return object;
}

int sheet_form_parse(const char *text, enum sheet_form *form, struct err *e)
{
    static const char *const words[] = {
        [SHEET_TABLE] = "table", [SHEET_CSV] = "csv", [SHEET_MD] = "md", NULL};
    const int word = text != NULL ? opt_word("--format", text, words, e) : SHEET_TABLE;
    if (word < 0)
        return -1;
    *form = (enum sheet_form)word;
    return 0;
}

void sheet_write(const struct sheet *s, enum sheet_form form, FILE *out)
{
    if (form == SHEET_CSV)
        sheet_csv(s, out);
    else if (form == SHEET_MD)
        sheet_markdown(s, out);
    else
        sheet_print(s, SIZE_MAX, out);
}
