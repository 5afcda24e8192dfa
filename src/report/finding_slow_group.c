/* SPDX-License-Identifier: MIT
 *
 * The finding of a communicator that is slower than the others of its kind.
 */
#include "analysis/slow_comm.h"
#include "base/buf.h"
#include "report/findings_rules.h"
#include "report/table.h"

#define RANKS_SHOWN 8

/* "ranks 2, 3", "ranks 0, 8, 16 and 29 more". */
static void put_ranks(struct buf *b, const struct comm *comm)
{
    int shown = comm->size > RANKS_SHOWN ? RANKS_SHOWN - 1 : comm->size, known = 0;
    for (int i = 0; i < shown; i++) {
        if (comm->ranks[i] >= 0)
            buf_printf(b, "%s%d", known++ == 0 ? "ranks " : ", ", comm->ranks[i]);
    }
    if (known > 0 && known < comm->size)
        buf_printf(b, " and %d more", comm->size - known);
}

bool rule_slow_group(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    struct slow_comm slow;
    char bytes[32], own[32], usual[32];
    double mean_span = (double)a->total.recorded_ns / (double)a->nranks;
    slow_comm_find(&slow, &a->comm, &a->node_map, threshold);
    if (slow.sample == NULL)
        return false;
    f->value = slow.median_ns / slow.usual_ns;
    f->weight = slow.lost_ns / mean_span;
    if (!(f->weight >= ANALYSIS_COMM_MIN))
        return false;
    buf_printf(b, "Slow group: %s of %s takes %s among ", specter_comm_op_name(slow.sample->op),
               text_bytes(bytes, sizeof bytes, (double)slow.sample->bytes),
               text_ns(own, sizeof own, slow.median_ns));
    put_ranks(b, &a->run->comms[slow.sample->comm]);
    buf_printf(b, ", and %s in ", text_ns(usual, sizeof usual, slow.usual_ns));
    if (slow.alike == 1)
        buf_puts(b, "the other group like it");
    else
        buf_printf(b, "the %zu other groups like it", slow.alike);
    buf_printf(
        b,
        " (median transfer time, without waiting for stragglers): %.2f times as long. "
        "Over %llu of them that is %.2g %% of the recorded time. Check the links and the GPUs of "
        "these ranks.",
        f->value, (unsigned long long)slow.count, 100 * f->weight);
    return true;
}
