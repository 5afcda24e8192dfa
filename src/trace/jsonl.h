/* SPDX-License-Identifier: MIT
 *
 * One file of the specter format while it is read: jsonl.c brings the lines and ends the file,
 * jsonl_record.c understands them.
 *
 * Times stay as they are in the file until its end, when all clock records are known: device times
 * on the device's clock, host times since init.mono_ns.
 */
#ifndef SPECTER_TRACE_JSONL_H
#define SPECTER_TRACE_JSONL_H

#include "trace/clock.h"
#include "base/idmap.h"
#include "trace/jsonl_line.h"
#include "trace/memo.h"
#include "trace/run.h"

enum word_role { WORD_OP, WORD_DTYPE, WORD_REDOP, WORD_TIMING, WORD_COMM, WORD_OTHER, WORD_ROLES };

/* Records that are not read, by their kind; in `total` also those that have no place of their own.
 */
#define JSONL_UNREAD_MAX 8

struct jsonl_unread {
    uint64_t total;
    size_t nkinds;
    struct {
        const char *name;
        uint64_t count;
    } kinds[JSONL_UNREAD_MAX];
};

/* Communicators of the original tool, which tells only their sizes. */
#define JSONL_UNNAMED "unnamed, of "

struct jsonl {
    struct run *run;
    struct rank *rank; /* the process of this file; the last of the run while it is read */
    const char *label;
    struct line line;
    struct memo words[WORD_ROLES];
    struct clock_map clocks;
    struct idmap threads;
    struct jsonl_gpu {
        int64_t device;
        const char *name;
    } gpus[64];
    size_t ngpus;
    struct idmap members; /* (communicator, comm rank) to the rank's memberships */
    bool has_init, has_shutdown;
    uint64_t sample; /* one GEMM in so many from the start, as init says */
    int64_t end_ns;  /* of the trace, on the host: shutdown, else the latest host time */

    uint64_t line_no, usable, bad, first_bad;
    char bad_reason[128];
    struct jsonl_unread unknown; /* of kinds we do not know */
    struct jsonl_unread lost;    /* those that hold device work, so that the result lacks it */
    uint64_t last_id;
    bool ids_repeat; /* some id was not larger than the one before */

    /* the original Python tool */
    bool legacy, typed, synchronised;
    bool saw_nccl, saw_gemm;
    int32_t group, group_depth;
    int64_t world_seq; /* collectives over all ranks so far */
};

/* Adds to the rank what the line says. NULL, or what is wrong with it. */
const char *jsonl_record(struct jsonl *r, const struct line *l);

#endif
