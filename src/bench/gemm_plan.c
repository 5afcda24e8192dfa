/* SPDX-License-Identifier: MIT */
#include "bench/gemm.h"

#include "base/err.h"
#include "base/opt.h"
#include "calib/csv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define HOLD_S 1.5
#define SET_MAX ((size_t)3 << 30) /* bytes of one GEMM's operands, and of its result */

/* ---- the space ---- */

static const int64_t sides[] = {256,  384,  512,  768,  1024,  1536, 2048,
                                3072, 4096, 6144, 8192, 12288, 16384};
static const int64_t odd_sides[] = {257, 500, 1000, 1023, 1025, 2047, 3001, 4095, 4097, 10007};
static const int64_t widths[] = {1024, 2048, 4096, 5120, 8192, 12288};
static const int64_t tokens[] = {1,   2,   4,   8,    16,   32,   64,   128,
                                 256, 512, 768, 1024, 2048, 4096, 8192, 16384};
static const int64_t thin[] = {1, 2, 3, 5, 8, 12, 16, 24, 32, 48, 64};
static const int64_t vocabularies[] = {32000, 50304, 128256};
static const int64_t depths[] = {8192, 32768, 131072};
static const int64_t lengths[] = {128, 512, 1024, 2048, 4096};
static const int64_t batches[] = {16, 32, 96, 256};

struct plan_builder {
    struct bench_gemm_plan *plan;
    const struct bench_gemm_type *type;
};

/* A hash of the shape: which of them a type has, and their order, look arbitrary and never change.
 */
static uint32_t mix(const struct bench_gemm_shape *s, uint32_t salt)
{
    const uint64_t parts[] = {(uint64_t)(s->type - bench_gemm_types),
                              (uint64_t)s->m,
                              (uint64_t)s->n,
                              (uint64_t)s->k,
                              (uint64_t)s->batch,
                              salt};
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < COUNT(parts); i++) {
        hash = (hash ^ parts[i]) * 0x100000001b3U;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static bool suits(const struct bench_gemm_shape *s)
{
    if (bench_blas_operand_set(s) > SET_MAX || bench_blas_result_set(s) > SET_MAX)
        return false;
    return s->n % s->type->multiple == 0 && s->k % s->type->multiple == 0 &&
           (!s->x_trans || s->m % s->type->multiple == 0) &&
           bench_gemm_flops(s) <= s->type->flops_max &&
           (s->type->multiple == 1 || (s->w_trans && !s->x_trans)) && /* 8 bits: this order only */
           mix(s, 1) % s->type->every == 0;
}

static void plan_add(struct bench_gemm_plan *plan, struct bench_gemm_case one)
{
    ARRAY_GROW(plan->cases, plan->cap, plan->count + 1);
    plan->cases[plan->count++] = one;
}

/* Cold and hot. */
static void add(const struct plan_builder *to, const char *family, struct bench_gemm_shape s)
{
    s.type = to->type;
    if (!suits(&s))
        return;
    for (uint32_t hot = 0; hot < 2; hot++)
        plan_add(to->plan,
                 (struct bench_gemm_case){
                     .shape = s, .family = family, .hot = hot > 0, .order = mix(&s, 2 + hot)});
}

#define FORWARD .batch = 1, .w_trans = true /* x w', w as frameworks store it */
#define TO_X .batch = 1                     /* the gradient of x */
#define TO_W .batch = 1, .x_trans = true    /* the gradient of w: tokens are summed over */

static void squares(const struct plan_builder *to)
{
    for (size_t i = 0; i < COUNT(sides); i++) {
        add(to, "square",
            (struct bench_gemm_shape){.m = sides[i], .n = sides[i], .k = sides[i], FORWARD});
        add(to, "square",
            (struct bench_gemm_shape){.m = sides[i], .n = sides[i], .k = sides[i], TO_X});
    }
}

/* The products of a decoder's layer: qkv, out, up, down, forward and, of many tokens, backward. */
static void layers(const struct plan_builder *to)
{
    for (size_t i = 0; i < COUNT(widths) * COUNT(tokens) * 4; i++) {
        int64_t h = widths[i % COUNT(widths)], t = tokens[i / COUNT(widths) % COUNT(tokens)];
        const int64_t in_out[4][2] = {{h, 3 * h}, {h, h}, {h, 4 * h}, {4 * h, h}};
        const int64_t *side = in_out[i / (COUNT(widths) * COUNT(tokens))];
        add(to, "layer", (struct bench_gemm_shape){.m = t, .n = side[1], .k = side[0], FORWARD});
        if (t < 512)
            continue;
        add(to, "grad_x", (struct bench_gemm_shape){.m = t, .n = side[0], .k = side[1], TO_X});
        add(to, "grad_w", (struct bench_gemm_shape){.m = side[1], .n = side[0], .k = t, TO_W});
    }
}

static void heads(const struct plan_builder *to)
{
    for (size_t i = 0; i < COUNT(vocabularies) * COUNT(tokens); i++) {
        int64_t v = vocabularies[i % COUNT(vocabularies)], t = tokens[i / COUNT(vocabularies)];
        if (t <= 8192)
            add(to, "head", (struct bench_gemm_shape){.m = t, .n = v, .k = 4096, FORWARD});
    }
}

/* Scores and their product with the values, a product for each head of each sequence. */
static void attention(const struct plan_builder *to)
{
    for (size_t i = 0; i < COUNT(lengths) * COUNT(batches) * 2; i++) {
        int64_t s = lengths[i % COUNT(lengths)];
        int64_t b = batches[i / COUNT(lengths) % COUNT(batches)];
        int64_t d = i < COUNT(lengths) * COUNT(batches) ? 64 : 128;
        add(to, "attention",
            (struct bench_gemm_shape){.m = s, .n = s, .k = d, .batch = b, .w_trans = true});
        add(to, "attention", (struct bench_gemm_shape){.m = s, .n = d, .k = s, .batch = b});
    }
}

static void thin_ones(const struct plan_builder *to)
{
    static const int64_t others[] = {2048, 4096, 8192, 16384};
    for (size_t i = 0; i < COUNT(thin) * COUNT(others); i++) {
        int64_t n = others[i / COUNT(thin)];
        add(to, "thin",
            (struct bench_gemm_shape){.m = thin[i % COUNT(thin)], .n = n, .k = n, FORWARD});
    }
}

static void odd_ones(const struct plan_builder *to)
{
    for (size_t i = 0; i < COUNT(odd_sides); i++) {
        int64_t a = odd_sides[i], b = odd_sides[(i + 3) % COUNT(odd_sides)];
        add(to, "odd", (struct bench_gemm_shape){.m = a, .n = a, .k = a, FORWARD});
        add(to, "odd", (struct bench_gemm_shape){.m = a, .n = b, .k = 4096, FORWARD});
        add(to, "odd", (struct bench_gemm_shape){.m = 4096, .n = a, .k = b, TO_X});
    }
}

static void deep_ones(const struct plan_builder *to)
{
    static const int64_t small[] = {64, 128, 256, 512, 1024};
    for (size_t i = 0; i < COUNT(small) * COUNT(depths); i++) {
        int64_t n = small[i % COUNT(small)], k = depths[i / COUNT(small)];
        add(to, "deep", (struct bench_gemm_shape){.m = n, .n = n, .k = k, FORWARD});
        add(to, "deep", (struct bench_gemm_shape){.m = n, .n = 2 * n, .k = k, TO_W});
    }
}

/* Run until power and clock are those of a long run. */
static void held_ones(const struct plan_builder *to)
{
    static const int64_t held[][3] = {{2048, 2048, 2048},
                                      {4096, 4096, 4096},
                                      {8192, 8192, 8192},
                                      {8192, 28672, 8192},
                                      {16, 8192, 8192}};
    for (size_t i = 0; i < COUNT(held); i++) {
        size_t before = to->plan->count;
        add(to, "held",
            (struct bench_gemm_shape){.m = held[i][0], .n = held[i][1], .k = held[i][2], FORWARD});
        for (; before < to->plan->count; before++)
            to->plan->cases[before].hold_s = HOLD_S;
    }
}

static void (*const families[])(const struct plan_builder *to) = {
    squares, layers, heads, attention, thin_ones, odd_ones, deep_ones, held_ones};
/* ---- the order ---- */

/* Of the same type, family and heat? 0, or which comes first. */
static int other_stratum(const struct bench_gemm_case *x, const struct bench_gemm_case *y)
{
    int family = strcmp(x->family, y->family);
    if (x->shape.type != y->shape.type)
        return x->shape.type < y->shape.type ? -1 : 1;
    return family != 0 ? family : (int)x->hot - (int)y->hot;
}

static int by_stratum(const void *a, const void *b)
{
    const struct bench_gemm_case *x = a, *y = b;
    int other = other_stratum(x, y);
    return other != 0 ? other : (x->order > y->order) - (x->order < y->order);
}

static int by_turn(const void *a, const void *b)
{
    const struct bench_gemm_case *x = a, *y = b;
    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return other_stratum(x, y);
}

/* In its order the plan has one of each stratum, then the second of each, and so on. */
void bench_gemm_plan_init(struct bench_gemm_plan *plan, const bool wanted[BENCH_GEMM_TYPES])
{
    uint32_t turn = 0;
    *plan = (struct bench_gemm_plan){0};
    for (size_t t = 0; t < BENCH_GEMM_TYPES; t++) {
        for (size_t f = 0; f < COUNT(families) && wanted[t]; f++)
            families[f](&(struct plan_builder){plan, &bench_gemm_types[t]});
    }
    if (plan->count == 0)
        return;
    qsort(plan->cases, plan->count, sizeof *plan->cases, by_stratum);
    for (size_t i = 0; i < plan->count; i++) {
        turn = i > 0 && other_stratum(&plan->cases[i - 1], &plan->cases[i]) == 0 ? turn + 1 : 0;
        plan->cases[i].turn = turn;
    }
    qsort(plan->cases, plan->count, sizeof *plan->cases, by_turn);
}

void bench_gemm_plan_release(struct bench_gemm_plan *plan)
{
    free(plan->cases);
    *plan = (struct bench_gemm_plan){0};
}

const char *bench_gemm_order(const struct bench_gemm_shape *s)
{
    return s->w_trans ? (s->x_trans ? "TT" : "TN") : s->x_trans ? "NT" : "NN";
}

double bench_gemm_flops(const struct bench_gemm_shape *s)
{
    return 2 * (double)s->m * (double)s->n * (double)s->k * (double)s->batch;
}

/* ---- GEMMs of a file ---- */

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
    int bad;
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

/* The fields of one GEMM, NULL or "" where one is not there. */
static int add_shape(struct shape_reader *r, const char *const fields[SHAPE_COLUMNS], struct err *e)
{
    const struct bench_gemm_type *type = NULL;
    int64_t extents[BATCH + 1] = {0, 0, 0, 1}, most;
    const char *order = fields[ORDER], *dtype = fields[DTYPE], *cache = fields[CACHE];
    int first = 0, last = 1;
    for (int i = M; i <= BATCH; i++) {
        if (i == BATCH && (fields[i] == NULL || fields[i][0] == '\0'))
            continue;
        if (fields[i] == NULL || opt_parse_i64(names[i], fields[i], &extents[i], NULL) < 0 ||
            extents[i] < 1 || extents[i] > SIDE_MAX)
            return err_set(e, ERR_INPUT, "%s: '%.32s' is no number from 1 to %lld", names[i],
                           fields[i] != NULL ? fields[i] : "", (long long)SIDE_MAX);
    }
    most = MATRIX_MAX / extents[BATCH];
    if (extents[M] * extents[N] > most || extents[M] * extents[K] > most ||
        extents[N] * extents[K] > most)
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
            plan_add(r->plan,
                     (struct bench_gemm_case){.shape = {&bench_gemm_types[t], extents[M],
                                                        extents[N], extents[K], extents[BATCH],
                                                        toupper((unsigned char)order[0]) == 'T',
                                                        toupper((unsigned char)order[1]) == 'T'},
                                              .family = "given",
                                              .hot = hot == 1});
    }
    return 0;
}

/* ---- lines ---- */

/* Words after m, n and k are told apart by what they are. */
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

int bench_gemm_shapes(const char *path, char *text, const bool wanted[BENCH_GEMM_TYPES],
                      struct bench_gemm_plan *plan, void (*note)(const char *text), struct err *e)
{
    struct shape_reader r = {.path = path, .wanted = wanted, .plan = plan, .note = note};
    const size_t before = plan->count;
    const char *first = text; /* line that is no remark: that of a table has commas */
    while (*first == '#' || isspace((unsigned char)*first))
        first += *first == '#' ? strcspn(first, "\n") : 1;
    if (memchr(first, ',', strcspn(first, "\n")) != NULL)
        read_table(&r, text, strlen(text));
    else
        read_lines(&r, text);
    if (plan->count > before)
        return r.bad;
    return err_set(e, ERR_INPUT, "%s: no line names a GEMM (m n k [batch] [dtype] [NN|NT|TN|TT])",
                   path);
}
