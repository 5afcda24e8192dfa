/* SPDX-License-Identifier: MIT */
#include "bench/gemm_shapes.h"

#include "base/opt.h"
#include "calib/csv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SIDE_MAX ((int64_t)1 << 24)
#define MATRIX_MAX \
    ((int64_t)1 << 48) /* elements, of the whole batch: its bytes fit in an int64_t */

enum column { M, N, K, BATCH, DTYPE, ORDER, CACHE, SHAPE_COLUMNS };
static const char *const names[SHAPE_COLUMNS] = {"m", "n", "k", "batch", "dtype", "order", "cache"};

struct shape_reader {
    const char *path;
    const bool *wanted;
    struct bench_gemm_plan *plan;
    void (*note)(const char *text);
    size_t bad;
};

static bool is_order(const char *text)
{
    return strlen(text) == 2 && strspn(text, "NTnt") == 2;
}

static void complain(struct shape_reader *r, size_t line, const char *what)
{
    struct err e = {0};
    r->bad++;
    err_set(&e, ERR_INPUT, "%s:%zu: %s", r->path, line, what);
    if (r->note != NULL)
        r->note(e.msg);
}

static bool is_too_large(const int64_t sides[BATCH + 1])
{
    const int64_t most = MATRIX_MAX / sides[BATCH];
    return sides[M] * sides[N] > most || sides[M] * sides[K] > most || sides[N] * sides[K] > most;
}

/* The fields of one GEMM, NULL or "" where one is not there. */
static int add_shape(struct shape_reader *r, const char *const fields[SHAPE_COLUMNS], struct err *e)
{
    const struct bench_gemm_type *type = NULL;
    int64_t sides[BATCH + 1] = {0, 0, 0, 1};
    const char *order = fields[ORDER], *dtype = fields[DTYPE], *cache = fields[CACHE];
    int first = 0, last = 1;
    for (int i = M; i <= BATCH; i++) {
        if (i == BATCH && (fields[i] == NULL || fields[i][0] == '\0'))
            continue;
        if (fields[i] == NULL || opt_parse_i64(names[i], fields[i], &sides[i], NULL) < 0 ||
            sides[i] < 1 || sides[i] > SIDE_MAX)
            return err_set(e, ERR_INPUT, "%s: '%.32s' is no number from 1 to %lld", names[i],
                           fields[i] != NULL ? fields[i] : "", (long long)SIDE_MAX);
    }
    if (is_too_large(sides))
        return err_set(e, ERR_INPUT, "a matrix of more than %lld elements, with its batch",
                       (long long)MATRIX_MAX);
    if (dtype != NULL && dtype[0] != '\0' && (type = bench_gemm_type_find(dtype)) == NULL)
        return err_set(e, ERR_INPUT, "'%.32s' is no type that GEMMs are timed in", dtype);
    if (order == NULL || order[0] == '\0')
        order = "TN";
    if (!is_order(order))
        return err_set(e, ERR_INPUT, "'%.32s' is none of NN, NT, TN and TT", order);
    if (cache != NULL && cache[0] != '\0') {
        if (strcasecmp(cache, "cold") != 0 && strcasecmp(cache, "hot") != 0)
            return err_set(e, ERR_INPUT, "'%.32s' is neither cold nor hot", cache);
        first = last = strcasecmp(cache, "hot") == 0;
    }
    for (size_t t = 0; t < BENCH_GEMM_TYPES; t++) {
        if (type != NULL ? type != &bench_gemm_types[t] : !r->wanted[t])
            continue;
        for (int hot = first; hot <= last; hot++)
            bench_gemm_plan_add(r->plan,
                                (struct bench_gemm_case){
                                    .shape = {&bench_gemm_types[t], sides[M], sides[N], sides[K],
                                              sides[BATCH], toupper((unsigned char)order[0]) == 'T',
                                              toupper((unsigned char)order[1]) == 'T'},
                                    .family = "given",
                                    .hot = hot == 1});
    }
    return 0;
}

/* ---- lines ---- */

/* Words behind m, n and k are told apart by what they are. */
static int add_line(struct shape_reader *r, char *line, struct err *e)
{
    const char *fields[SHAPE_COLUMNS] = {0};
    char *save = NULL, *word;
    int i = 0;
    for (word = strtok_r(line, " \t\r", &save); word != NULL;
         word = strtok_r(NULL, " \t\r", &save), i++) {
        const enum column at = i < BATCH                                       ? (enum column)i
                               : i == BATCH && isdigit((unsigned char)word[0]) ? BATCH
                               : is_order(word)                                ? ORDER
                                                                               : DTYPE;
        if (fields[at] != NULL)
            return err_set(e, ERR_INPUT, "'%.32s' is one word too many", word);
        fields[at] = word;
    }
    return i == 0 ? 0 : add_shape(r, fields, e);
}

static void read_lines(struct shape_reader *r, char *text)
{
    char *at = text;
    for (size_t line = 1; at != NULL; line++) {
        char *next = strchr(at, '\n');
        struct err e = {0};
        if (next != NULL)
            *next++ = '\0';
        at[strcspn(at, "#")] = '\0';
        if (add_line(r, at, &e) < 0)
            complain(r, line, e.msg);
        at = next;
    }
}

/* ---- a table ---- */

static void find_columns(const struct csv *c, int place[SHAPE_COLUMNS])
{
    for (int i = 0; i < SHAPE_COLUMNS; i++) {
        place[i] = -1;
        for (size_t f = 0; f < c->count; f++) {
            if (strcasecmp(c->fields[f], names[i]) == 0)
                place[i] = (int)f;
        }
    }
}

static void read_table(struct shape_reader *r, const char *text, size_t len)
{
    int place[SHAPE_COLUMNS];
    bool head = false;
    struct csv c;
    csv_init(&c, text, len);
    while (csv_next(&c)) {
        const char *fields[SHAPE_COLUMNS] = {0};
        struct err e = {0};
        if (c.problem != NULL) {
            complain(r, c.line, c.problem);
            continue;
        }
        if (c.fields[0][0] == '#')
            continue;
        if (!head) {
            find_columns(&c, place);
            head = true;
            continue;
        }
        for (int i = 0; i < SHAPE_COLUMNS; i++)
            fields[i] = place[i] >= 0 && (size_t)place[i] < c.count ? c.fields[place[i]] : NULL;
        if (add_shape(r, fields, &e) < 0)
            complain(r, c.line, e.msg);
    }
    csv_release(&c);
}

/* The first line that is no remark has commas. */
static bool is_table(const char *text)
{
    while (*text == '#' || isspace((unsigned char)*text)) {
        text += *text == '#' ? strcspn(text, "\n") : 1;
    }
    return memchr(text, ',', strcspn(text, "\n")) != NULL;
}

int bench_gemm_shapes(const char *path, const char *text, size_t len,
                      const bool wanted[BENCH_GEMM_TYPES], struct bench_gemm_plan *plan,
                      void (*note)(const char *text), size_t *bad, struct err *e)
{
    struct shape_reader r = {.path = path, .wanted = wanted, .plan = plan, .note = note};
    const size_t before = plan->count;
    char *copy = strndup(text, len);
    if (copy == NULL)
        die("out of memory");
    if (is_table(copy))
        read_table(&r, copy, strlen(copy));
    else
        read_lines(&r, copy);
    free(copy);
    *bad = r.bad;
    if (plan->count > before)
        return 0;
    return err_set(e, ERR_INPUT, "%s: no line names a GEMM (m n k [batch] [dtype] [NN|NT|TN|TT])",
                   path);
}
