/* SPDX-License-Identifier: MIT
 *
 * Waits between streams, found in the recorded device times of a trace that does not hold the
 * events themselves (PyTorch's profiler names neither the stream nor the event of a wait). Only
 * what the recording itself obeys is ever inferred, and the caller says how many there are:
 *
 *   by gap    an operation that started later than its launch and its stream allow, within
 *             INFER_BEHIND_NS behind the end of an operation on another stream that the host had
 *             issued before it, waited for that operation. Within the launch of a graph only its
 *             own operations are waited for.
 *   by issue  a collective waits for the computation that its thread issued last before it (every
 *             framework orders its communication stream so); taken for a stream only when all of
 *             its collectives, as far as they are timed, started no earlier than that.
 *
 * A host's synchronisation of which the trace tells neither stream nor event waited for the
 * operation that ended last before it returned, within INFER_BEHIND_NS, of those issued before it:
 * of its own thread, if there is one, else of any.
 */
#ifndef SPECTER_SIM_PROGRAM_INFER_WAITS_H
#define SPECTER_SIM_PROGRAM_INFER_WAITS_H

#include "sim/program/host_calls.h"

#define INFER_NONE UINT32_MAX
#define INFER_BEHIND_NS                                                           \
    30000 /* an operation starts so soon behind what it waited for: seen are 2 us \
             on V100, 10 to 18 us on MI300X */
#define INFER_SLACK_NS \
    1000 /* and perhaps before its end, by times that are rounded or read from events */
#define INFER_LATE_NS 5000 /* a start so soon after the launch is no wait */

enum infer_rule { INFER_BY_GAP, INFER_BY_ISSUE, INFER_RULES };

struct inferred {
    uint32_t *after[INFER_RULES]; /* owned, [nops]: the operation waited for; INFER_NONE */
    uint32_t *sync;               /* owned, [nacts]: the operation waited for; INFER_NONE */
    bool *awaited;                /* owned, [nops]: a stream or a host waits for it */
    uint64_t count[INFER_RULES];
};

/* Returns whether the trace does not tell what this synchronisation waits for. */
bool infer_untold(const struct sync_call *sync_call);

/* waits: between streams, too, not only of hosts. rank is the `nth` of the process. stream[i]: the
 * stream of operation i, 0 .. nstreams-1. leader[i]: the operation whose call launches i (of a
 * group the last, else i itself). */
void infer_waits(struct inferred *out, const struct rank *rank, const struct host_calls *calls,
                 uint32_t nth, const uint32_t *stream, uint32_t nstreams, const uint32_t *leader,
                 int64_t latency_ns, bool waits);
void infer_release(struct inferred *out);

#endif
