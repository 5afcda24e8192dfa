/* SPDX-License-Identifier: MIT
 *
 * A row as nccl-tests (src/util.cu) prints it, of all ranks together:
 *
 *     size count type redop root   time algbw busbw #wrong   time algbw busbw #wrong
 *      (B)                         out of place              in place
 *
 * Older versions lack root or redop, say `error` for #wrong and print no in-place part; the report
 * of single iterations (2.19 on) adds i_min i_max i_p99 i_cv% to either part, a bitwise comparison
 * #bitdiff before them; -T adds a time of day. The line of headings says which columns there are;
 * without one it follows from how many values stand after the type.
 */
#include "base/opt.h"
#include "bench/nccl_tests.h"
#include "calib/measured.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PREFIX_WORDS 12              /* that launchers and loggers put before a row */
#define WORD_MAX 64                  /* a longer word is no number and no type */
#define GAP_MIN 24                   /* blanks of a part that was not measured; it is 32 wide */
#define BYTES_MAX 9007199254740992.0 /* 2^53: up to here a double counts single ones */
#define TIME_MAX 1e12                /* us: twelve days */

typedef struct nccl_tests_word word;

static const struct {
    const char *heading;
    enum nccl_tests_column column;
} headings[] = {
#define X(id, heading) {heading, NCCL_TESTS_##id},
    NCCL_TESTS_COLUMNS(X)
#undef X
};

void nccl_tests_split(const char *text, size_t len, struct nccl_tests_words *out)
{
    const char *end = text + len;
    out->n = 0;
    while (out->n < NCCL_TESTS_WORDS) {
        const char *start;
        while (text < end && isspace((unsigned char)*text))
            text++;
        start = text;
        while (text < end && !isspace((unsigned char)*text))
            text++;
        if (text == start)
            return;
        out->word[out->n++] = (word){start, (size_t)(text - start)};
    }
}

static bool is(const word *w, const char *text)
{
    return w->len == strlen(text) && strncasecmp(w->p, text, w->len) == 0;
}

/* Terminated, in buf; "" for one that is too long. */
static const char *text_of(const word *w, char buf[WORD_MAX])
{
    snprintf(buf, WORD_MAX, "%.*s", w->len < WORD_MAX ? (int)w->len : 0, w->p);
    return buf;
}

bool nccl_tests_headings(const struct nccl_tests_words *words, struct nccl_tests_columns *out)
{
    size_t first = 0;
    bool timed = false;
    while (first < words->n && !is(&words->word[first], "size"))
        first++;
    if (words->n - first < 4 || !is(&words->word[first + 1], "count") ||
        !is(&words->word[first + 2], "type"))
        return false;
    out->n = 0;
    for (size_t i = first; i < words->n; i++) {
        enum nccl_tests_column column = NCCL_TESTS_OTHER;
        for (size_t k = 0; k < sizeof headings / sizeof *headings; k++) {
            if (is(&words->word[i], headings[k].heading))
                column = headings[k].column;
        }
        out->column[out->n++] = column;
        timed |= column == NCCL_TESTS_TIME || column == NCCL_TESTS_CPUTIME;
    }
    if (!timed)
        out->n = 0;
    return timed;
}

/* ---- one row ---- */

static bool number(const word *w, double *out)
{
    char buf[WORD_MAX];
    if (is(w, "N/A")) {
        *out = NAN;
        return true;
    }
    return opt_parse_double("", text_of(w, buf), out, NULL) == 0;
}

static bool whole(const word *w, uint64_t *out)
{
    double value;
    for (size_t i = 0; i < w->len; i++) {
        if (!isdigit((unsigned char)w->p[i]))
            return false;
    }
    if (w->len == 0 || !number(w, &value))
        return false;
    *out = value <= BYTES_MAX ? (uint64_t)value : UINT64_MAX;
    return true;
}

/* Where "size count type" stands; words->n: nowhere. */
static size_t find_start(const struct nccl_tests_words *words)
{
    char buf[WORD_MAX];
    uint64_t ignored;
    for (size_t i = 0; i <= PREFIX_WORDS && i + 2 < words->n; i++) {
        const word *w = &words->word[i];
        if (whole(&w[0], &ignored) && whole(&w[1], &ignored) &&
            measured_dtype(text_of(&w[2], buf)) != SPECTER_DTYPE_UNKNOWN)
            return i;
    }
    return words->n;
}

static void add(struct nccl_tests_columns *c, const enum nccl_tests_column *list, size_t n)
{
    memcpy(&c->column[c->n], list, n * sizeof *list);
    c->n += n;
}

/* Without a line of headings: a word that is no number is the operator, one value more than the
 * parts need is the root. */
static struct nccl_tests_columns guess_columns(const word *behind, size_t n)
{
    static const enum nccl_tests_column head[] = {NCCL_TESTS_SIZE, NCCL_TESTS_COUNT,
                                                  NCCL_TESTS_TYPE},
                                        redop[] = {NCCL_TESTS_REDOP}, root[] = {NCCL_TESTS_ROOT},
                                        part[] = {NCCL_TESTS_TIME, NCCL_TESTS_ALGBW,
                                                  NCCL_TESTS_BUSBW, NCCL_TESTS_WRONG},
                                        single[] = {NCCL_TESTS_MIN, NCCL_TESTS_MAX, NCCL_TESTS_P99,
                                                    NCCL_TESTS_CV};
    struct nccl_tests_columns c = {.n = 0};
    double ignored;
    size_t left = n;
    bool singles;
    add(&c, head, 3);
    if (left > 0 && !number(&behind[0], &ignored)) {
        add(&c, redop, 1);
        left--;
    }
    if (left % 4 == 1 || left % 4 == 3) { /* 3: a time of day is two words */
        add(&c, root, 1);
        left--;
    }
    singles = left >= 16; /* both parts, as 2.19 prints them */
    for (size_t i = 0; i < 2 && (i == 0 || left >= (singles ? 16 : 8)); i++) {
        add(&c, part, 4);
        if (singles)
            add(&c, single, 4);
    }
    return c;
}

static bool starts_part(enum nccl_tests_column column)
{
    return column == NCCL_TESTS_TIME || column == NCCL_TESTS_CPUTIME;
}

/* Where the parts of a row stand, in columns. */
struct nccl_tests_parts {
    size_t first, n; /* columns before the first part; 1 or 2 parts */
    size_t width;    /* that are read of a part: those of another program end it */
    size_t stride;   /* from part to part */
};

static struct nccl_tests_parts parts_of(const struct nccl_tests_columns *c)
{
    struct nccl_tests_parts p = {.width = 1};
    size_t second;
    while (p.first < c->n && !starts_part(c->column[p.first]))
        p.first++;
    for (second = p.first + 1; second < c->n && !starts_part(c->column[second]);)
        second++;
    p.n = second < c->n ? 2 : 1;
    p.stride = second - p.first;
    while (p.width < p.stride && c->column[p.first + p.width] != NCCL_TESTS_OTHER)
        p.width++;
    return p;
}

static bool read_head(const struct nccl_tests_columns *c, size_t n, const word *w,
                      struct bench_row *row)
{
    char buf[WORD_MAX];
    double root;
    for (size_t i = 0; i < n; i++) {
        if (c->column[i] == NCCL_TESTS_SIZE && !whole(&w[i], &row->bytes))
            return false;
        if (c->column[i] == NCCL_TESTS_COUNT && !whole(&w[i], &row->count))
            return false;
        if (c->column[i] == NCCL_TESTS_TYPE)
            row->dtype = measured_dtype(text_of(&w[i], buf));
        if (c->column[i] == NCCL_TESTS_REDOP) {
            row->redop = specter_redop_parse(text_of(&w[i], buf), strlen(text_of(&w[i], buf)));
            if (is(&w[i], "mulsum"))
                row->redop = SPECTER_REDOP_PREMUL;
        }
        if (c->column[i] == NCCL_TESTS_ROOT) {
            if (!number(&w[i], &root) || !(fabs(root) <= INT32_MAX))
                return false;
            row->root = (int)root;
        }
    }
    return true;
}

static bool read_part(const enum nccl_tests_column *column, size_t n, const word *w,
                      struct bench_row *row)
{
    double max;
    for (size_t i = 0; i < n; i++) {
        double *to = NULL;
        switch (column[i]) {
        case NCCL_TESTS_TIME:
        case NCCL_TESTS_CPUTIME:
            to = &row->time_us;
            break;
        case NCCL_TESTS_ALGBW:
            to = &row->algbw_GBps;
            break;
        case NCCL_TESTS_BUSBW:
            to = &row->busbw_GBps;
            break;
        case NCCL_TESTS_WRONG:
        case NCCL_TESTS_ERROR:
            to = &row->wrong;
            break;
        case NCCL_TESTS_MIN:
            to = &row->min_us;
            break;
        case NCCL_TESTS_P99:
            to = &row->p99_us;
            break;
        case NCCL_TESTS_CV:
            to = &row->cv;
            break;
        default:
            to = &max;
            break;
        }
        if (!number(&w[i], to))
            return false;
        if (column[i] == NCCL_TESTS_CV)
            row->cv /= 100;
        if (column[i] == NCCL_TESTS_ERROR) /* the largest deviation, not how many deviate */
            row->wrong = NAN;
    }
    return true;
}

static const char *check(const struct bench_row *row)
{
    if (row->bytes > (uint64_t)BYTES_MAX || row->count > (uint64_t)BYTES_MAX)
        return "the size is out of range";
    if (!(row->time_us > 0))
        return "the time is not above 0";
    if (row->time_us > TIME_MAX)
        return "the time is out of range";
    return NULL;
}

enum nccl_tests_line nccl_tests_row(const struct nccl_tests_columns *columns,
                                    const struct nccl_tests_words *words, struct bench_run *run,
                                    size_t line, const char **why)
{
    const size_t start = find_start(words), before = run->nrows;
    const word *w = &words->word[start];
    const size_t n = words->n - start;
    enum nccl_tests_line kind = NCCL_TESTS_ROW;
    struct nccl_tests_columns guessed;
    struct nccl_tests_parts p;
    size_t have;
    bool blank;
    if (start == words->n)
        return NCCL_TESTS_NO_ROW;
    if (columns->n == 0) {
        guessed = guess_columns(&w[3], n - 3);
        columns = &guessed;
    }
    p = parts_of(columns);
    have = n < p.first + p.width ? 0 : (n - p.first - p.width) / p.stride + 1;
    /* A row that was measured in place alone has blanks in the place of the other part. */
    blank =
        have == 1 && p.n == 2 && w[p.first].p - (w[p.first - 1].p + w[p.first - 1].len) > GAP_MIN;
    for (size_t i = 0; i < have && i < p.n && kind == NCCL_TESTS_ROW; i++) {
        struct bench_row *row = bench_row_add(run);
        *why = NULL;
        if (!read_head(columns, p.first, w, row) ||
            !read_part(&columns->column[p.first], p.width, &w[p.first + i * p.stride], row))
            *why = "a value is no number";
        else if (row->bytes == 0)
            kind = NCCL_TESTS_EMPTY;
        else
            *why = check(row);
        if (*why != NULL)
            kind = NCCL_TESTS_CUT;
        row->line = line;
        row->in_place = i == 1 || blank || columns->in_place_only;
    }
    if (kind != NCCL_TESTS_ROW)
        run->nrows = before; /* neither part of it */
    if (kind == NCCL_TESTS_ROW && have < p.n && !blank) {
        *why = "the row is cut";
        return NCCL_TESTS_CUT; /* the part that is whole stands */
    }
    return kind;
}
