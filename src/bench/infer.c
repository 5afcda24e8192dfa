/* SPDX-License-Identifier: MIT */
#include "bench/infer.h"

#include <math.h>

#define RANKS_MAX 4096     /* that busbw / algbw can be told apart for is far below */
#define PRINTED_HALF 0.005 /* GB/s: half of the last digit that is printed */
#define ROWS_MAX 1024      /* that are looked at, spread over all */
#define RATE_MIN 1         /* GB/s: of smaller rates the digits say nothing */

/* Columns that nccl-tests fills for each operation; parts: size / (count x element size) is the
 * number of ranks, not 1. */
static const struct {
    enum specter_comm_op op;
    bool parts, has_redop, has_root;
} forms[] = {
    {SPECTER_ALLREDUCE, false, true, false},    {SPECTER_SEND, false, true, false},
    {SPECTER_REDUCESCATTER, true, true, false}, {SPECTER_REDUCE, false, true, true},
    {SPECTER_BROADCAST, false, false, true},    {SPECTER_ALLGATHER, true, false, false},
    {SPECTER_ALLTOALL, true, false, false},     {SPECTER_GATHER, true, false, true},
    {SPECTER_SCATTER, true, false, true},
};

#define FORMS (sizeof forms / sizeof *forms)

/* Digits are lost by rounding to 0.01, and from 1000 on to 0.1. */
static bool rates_agree(const struct bench_row *row, double factor)
{
    const double half =
        row->busbw_GBps >= 1000 || row->algbw_GBps >= 1000 ? 10 * PRINTED_HALF : PRINTED_HALF;
    if (!(row->algbw_GBps > RATE_MIN) || !isfinite(row->busbw_GBps))
        return true;
    return fabs(row->busbw_GBps - row->algbw_GBps * factor) <= half * (1 + factor) * 1.01;
}

/* Returns whether this operation among so many ranks prints such a row. */
static bool agrees(const struct bench_row *row, size_t form, int ranks)
{
    const uint64_t element = specter_dtype_bits(row->dtype) / 8;
    const uint64_t parts = forms[form].parts ? (uint64_t)ranks : 1;
    if (forms[form].has_redop != (row->redop != SPECTER_REDOP_NONE) ||
        forms[form].has_root != (row->root >= 0))
        return false;
    if (element > 0 && row->count > 0 && row->bytes != row->count * element * parts)
        return false;
    return rates_agree(row, specter_comm_op_bus_factor(forms[form].op, (uint64_t)ranks));
}

static bool all_agree(const struct bench_run *run, size_t form, int ranks)
{
    for (size_t i = 0; i < run->nrows; i += run->nrows / ROWS_MAX + 1) {
        if (!agrees(&run->rows[i], form, ranks))
            return false;
    }
    return true;
}

/* The operation of all rows; COUNT: several, or none. */
static enum specter_comm_op infer_op(const struct bench_run *run)
{
    const int from = run->where.ranks > 0 ? run->where.ranks : 2;
    const int to = run->where.ranks > 0 ? run->where.ranks : RANKS_MAX;
    enum specter_comm_op found = SPECTER_COMM_OP_COUNT;
    for (size_t form = 0; form < FORMS; form++) {
        for (int n = from; n <= to; n++) {
            if (!all_agree(run, form, n))
                continue;
            if (found != SPECTER_COMM_OP_COUNT)
                return SPECTER_COMM_OP_COUNT;
            found = forms[form].op;
            break;
        }
    }
    return found;
}

static int infer_ranks(const struct bench_run *run, enum specter_comm_op op)
{
    int found = 0;
    for (size_t form = 0; form < FORMS; form++) {
        for (int n = 2; forms[form].op == op && n <= RANKS_MAX; n++) {
            if (!all_agree(run, form, n))
                continue;
            if (found > 0)
                return 0;
            found = n;
        }
    }
    return found;
}

void bench_infer(struct bench_run *run, enum specter_comm_op op)
{
    if (run->nrows == 0)
        return;
    if (run->rows[0].op == SPECTER_COMM_OP_COUNT && run->program[0] == '\0') {
        if (op == SPECTER_COMM_OP_COUNT)
            op = infer_op(run);
        for (size_t i = 0; i < run->nrows; i++)
            run->rows[i].op = op;
    }
    if (run->where.ranks == 0 && run->rows[0].op != SPECTER_COMM_OP_COUNT)
        run->where.ranks = infer_ranks(run, run->rows[0].op);
    for (size_t i = 0; i < run->nrows; i++) {
        if (run->rows[i].where.ranks == 0)
            run->rows[i].where.ranks = run->where.ranks;
        if (run->rows[i].op != SPECTER_COMM_OP_COUNT)
            bench_row_rates(&run->rows[i]);
    }
}
