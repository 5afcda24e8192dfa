/* SPDX-License-Identifier: MIT
 *
 * Kernels that were counted and not timed, between two operations of a stream that have times. The
 * time that the recording does not explain otherwise is theirs:
 *
 *     ---- P ----|             ~~~ kernels ~~~            |---- N ----
 *                ^ later of: end of P, launch of the first, what the stream was told to await
 *
 * when N began later than the end of P, its own launch and every wait allow. When N began as soon
 * as it was launched, the device was waiting for the host: how much of the gap the kernels took is
 * not known, it changes nothing on this hardware, and they are taken as 0. What a host blocked in a
 * synchronisation for is an N too, and so is a copy without a time whose call waited.
 *
 * Each wait of the stream begins a new period of kernels. How long one took that has a wait behind
 * it, where more kernels or N come, cannot be told so. An operation of another stream can tell: one
 * that awaited an event recorded behind these kernels, and that nothing else kept from starting
 * earlier, started when they were over. Where none does, kernels before and behind a wait share the
 * time up to N, an equal part for each, unless the first then end before what is awaited.
 *
 * Some operations leave gaps that no host can explain. Those that the launch of a graph issued run
 * as the device orders them, and a profile may hold a few of many; what comes behind them on the
 * stream waits for all. Those whose call the recording does not hold (launched before it began,
 * say) tell nothing of their host. Both keep their distance from what is before them on the stream,
 * where that, their launch and every wait allowed an earlier start: as work that was not recorded,
 * in front of them.
 *
 * This reads differences between recorded device times, as infer_waits.h does. The time is replayed
 * as work of the stream, launched where the first kernel was.
 */
#ifndef SPECTER_SIM_PROGRAM_UNTIMED_H
#define SPECTER_SIM_PROGRAM_UNTIMED_H

#include <stdint.h>

enum untimed_rule {
    UNTIMED_WORK, /* they took the gap */
    UNTIMED_HOST, /* the host was late: not known, 0 */
    UNTIMED_RULES
};

/* Why an operation keeps its distance from what is before it on its stream. */
enum untimed_gap {
    GAP_GRAPH,     /* in, or right behind, the launch of a graph */
    GAP_NO_LAUNCH, /* its call is not in the recording */
    UNTIMED_GAPS
};

struct builder;

/* Fills b->untimed_ns, b->untimed_classes, b->gap_ns and the facts. latency_ns: from a launch to
 * the start of its work. */
void untimed_find(struct builder *b, int64_t latency_ns);

#endif
