/* SPDX-License-Identifier: MIT
 *
 * Finds the number that counts tokens in all GEMMs of the steps, and divides GEMMs, transfers and
 * kernels by it (scaling.h).
 */
#include "sim/scaling/scaling.h"

#include <math.h>
#include <string.h>

enum { DIM_M, DIM_N, DIM_K };

static uint32_t size_of(const struct op *op, int dim)
{
    return dim == DIM_M ? op->gemm.m : dim == DIM_N ? op->gemm.n : op->gemm.k;
}

/* Dimensions that may count tokens, as bits (scaling.h); all of them where the trace does
 * not tell how the factors lie. */
static unsigned dims_of(const struct op *op)
{
    bool a_transposed = op->gemm.trans[0] == 'T' || op->gemm.trans[0] == 'C';
    bool b_transposed = op->gemm.trans[1] == 'T' || op->gemm.trans[1] == 'C';
    if (op->gemm.trans[0] == '\0' || op->gemm.trans[1] == '\0')
        return 1u << DIM_M | 1u << DIM_N | 1u << DIM_K;
    if (!a_transposed && b_transposed)
        return 1u << DIM_K;
    return (a_transposed ? 1u << DIM_M : 0) | (!b_transposed ? 1u << DIM_N : 0);
}

static bool may_be(const struct op *op, uint32_t tokens)
{
    for (int dim = DIM_M; dim <= DIM_K; dim++) {
        if (dims_of(op) & 1u << dim && size_of(op, dim) == tokens)
            return true;
    }
    return false;
}

/* ---- which number ---- */

struct token_search {
    const struct run *run;
    const struct rank_steps *iterations;
    uint32_t may[3];         /* numbers that may still be the tokens; 0: excluded */
    const struct op *first;  /* the first product */
    const struct op *struck; /* the product that excluded the last number */
    uint64_t side_m,
        side_n;    /* products of which m or n may be the tokens: m alone is, n alone is */
    uint64_t tied; /* both are */
    bool untold;   /* a product of unknown order has that number twice */
};

static void narrow(struct token_search *f, struct strong_scaling *s, const struct op *op)
{
    bool any = false;
    if (op->gemm.batch > 1) {
        uint32_t a = s->batch, b = op->gemm.batch;
        while (a != 0) {
            uint32_t rest = b % a;
            b = a;
            a = rest;
        }
        s->batch = b;
        return;
    }
    for (int dim = DIM_M; f->first == NULL && dim <= DIM_K; dim++)
        f->may[dim] = dims_of(op) & 1u << dim ? size_of(op, dim) : 0;
    f->first = f->first == NULL ? op : f->first;
    for (int i = 0; i < 3; i++) {
        if (f->may[i] != 0 && !may_be(op, f->may[i]))
            f->may[i] = 0;
        any = any || f->may[i] != 0;
    }
    if (!any && f->struck == NULL)
        f->struck = op;
}

static void count_sides(struct token_search *f, struct strong_scaling *s, const struct op *op)
{
    bool m = op->gemm.m == s->tokens, n = op->gemm.n == s->tokens;
    if (op->gemm.batch > 1)
        return;
    if (dims_of(op) == (1u << DIM_M | 1u << DIM_N | 1u << DIM_K)) {
        f->untold = f->untold || m + n + (op->gemm.k == s->tokens) > 1;
        return;
    }
    if (dims_of(op) != (1u << DIM_M | 1u << DIM_N))
        return;
    f->tied += m && n;
    f->side_m += m && !n;
    f->side_n += n && !m;
}

static void each_product(struct token_search *f, struct strong_scaling *s,
                         void (*visit)(struct token_search *, struct strong_scaling *,
                                       const struct op *))
{
    for (size_t r = 0; r < f->run->nranks; r++) {
        for (size_t i = 0; i < f->run->ranks[r].nops; i++) {
            const struct op *op = &f->run->ranks[r].ops[i];
            if (op->class == OP_GEMM && op->gemm.m > 0 && op->gemm.n > 0 && op->gemm.k > 0 &&
                f->iterations[r].of[i] != STEP_NONE)
                visit(f, s, op);
        }
    }
}

static const char *product_text(struct arena *arena, const struct op *op)
{
    return arena_printf(arena, "%u x %u x %u (%s)", op->gemm.m, op->gemm.n, op->gemm.k,
                        op->gemm.trans[0] ? op->gemm.trans : "order not told");
}

/* The one number that is left; 0 with s->refused set. */
static uint32_t choose(struct strong_scaling *s, const struct token_search *f, struct arena *arena)
{
    uint32_t chosen = 0;
    for (int i = 0; i < 3; i++) {
        if (f->may[i] == 0 || f->may[i] == chosen)
            continue;
        if (chosen != 0) {
            s->refused = arena_printf(arena,
                                      "%u and %u may both be the tokens of a micro-batch in every "
                                      "GEMM",
                                      chosen, f->may[i]);
            return 0;
        }
        chosen = f->may[i];
    }
    if (chosen == 0 && f->first == NULL)
        s->refused = "no GEMM shows the tokens of a micro-batch";
    else if (chosen == 0)
        s->refused = arena_printf(arena,
                                  "no dimension counts tokens in every GEMM: %s and %s have "
                                  "none in common",
                                  product_text(arena, f->first), product_text(arena, f->struck));
    return chosen;
}

void strong_scaling_find(struct strong_scaling *s, const struct weak_scaling *growth,
                         const struct rank_steps *iterations, struct arena *arena)
{
    struct token_search f = {.run = growth->run, .iterations = iterations};
    enum grid_role role = growth->axis < 0 ? GRID_DP : growth->grid->axes[growth->axis].role;
    *s = (struct strong_scaling){.growth = growth};
    if (role != GRID_DP && role != GRID_FSDP) {
        s->refused = "it divides the batch, which data-parallel ranks share (--grow dp or fsdp)";
        return;
    }
    each_product(&f, s, narrow);
    s->tokens = choose(s, &f, arena);
    if (s->refused != NULL)
        return;
    each_product(&f, s, count_sides);
    s->tied_n = f.side_m == 0;
    if (f.untold || (f.tied > 0 && (f.side_m > 0) == (f.side_n > 0)))
        s->refused = arena_printf(arena,
                                  "two dimensions are %u in some GEMMs, and others do not tell "
                                  "which counts tokens",
                                  s->tokens);
    else if (s->batch > 0 && grid_size(growth->grid, GRID_EP) > 1)
        s->refused = "batches of GEMMs may count experts or sequences";
}

int strong_scaling_check(const struct strong_scaling *s, int64_t scale, struct err *e)
{
    if (scale > 1 && s->refused != NULL)
        return err_set(e, ERR_USAGE, "--strong: %s", s->refused);
    if (scale > 1 && s->tokens % scale != 0)
        return err_set(e, ERR_USAGE,
                       "--strong: scale %lld does not divide the %u tokens of a "
                       "micro-batch",
                       (long long)scale, s->tokens);
    if (scale > 1 && s->batch % scale != 0)
        return err_set(e, ERR_USAGE, "--strong: scale %lld does not divide batches of %u GEMMs",
                       (long long)scale, s->batch);
    return 0;
}

/* ---- what is left ---- */

static int token_dim(const struct strong_scaling *s, const struct op *op)
{
    unsigned dims = dims_of(op);
    bool m = dims & 1u << DIM_M && op->gemm.m == s->tokens;
    bool n = dims & 1u << DIM_N && op->gemm.n == s->tokens;
    if (m && n)
        return s->tied_n ? DIM_N : DIM_M;
    return m ? DIM_M : n ? DIM_N : DIM_K;
}

/* A GEMM outside of the steps need not have the tokens or the batch: then it keeps its size. */
void strong_scaling_divide(const struct strong_scaling *s, const struct op *op, int64_t scale,
                           struct gemm_shape *shape)
{
    uint64_t n = (uint64_t)scale;
    if (op->gemm.batch > 1) {
        if (shape->batch % n == 0)
            shape->batch /= n;
        return;
    }
    switch (token_dim(s, op)) {
    case DIM_M:
        shape->m /= n;
        break;
    case DIM_N:
        shape->n /= n;
        break;
    default:
        if (dims_of(op) & 1u << DIM_K && op->gemm.k == s->tokens)
            shape->k /= n;
    }
}

bool strong_scaling_divides(const struct strong_scaling *s, int comm, enum specter_comm_op what,
                            uint64_t bytes, enum specter_dtype dtype)
{
    const struct grid *g = s->growth->grid;
    uint64_t size = specter_dtype_bits(dtype) / 8;
    if (!g->comms[comm].known || bytes <= GRID_CONTROL_BYTES)
        return false;
    for (int a = 0; a < g->naxes; a++) {
        bool data = g->axes[a].role == GRID_DP || g->axes[a].role == GRID_FSDP;
        if (data && g->comms[comm].axes & 1u << a)
            return false;
    }
    if (specter_comm_op_is_p2p(what) || what == SPECTER_ALLTOALL || what == SPECTER_ALLTOALLV)
        return true;
    return size > 0 && bytes / size % s->tokens == 0;
}

double strong_scaling_kernel_ns(enum specter_kernel_class kind, double ns, double least_ns,
                                int64_t scale)
{
    static const bool divides[SPECTER_KERNEL_CLASS_COUNT] = {
        [SPECTER_KERNEL_ATTENTION] = true,   [SPECTER_KERNEL_GEMM] = true,
        [SPECTER_KERNEL_ELEMENTWISE] = true, [SPECTER_KERNEL_REDUCTION] = true,
        [SPECTER_KERNEL_COPY] = true,
    };
    if (!divides[kind])
        return ns;
    return fmin(ns, least_ns) + fmax(ns - least_ns, 0) / (double)scale;
}
