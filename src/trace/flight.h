/* SPDX-License-Identifier: MIT
 *
 * Inside the reader of PyTorch's Flight Recorder dumps (one file a rank, JSON or a pickle of the
 * same): the ring of the last calls of every process group, with the state each was in.
 *
 *     {"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},
 *      "entries":[{"record_id":7,"process_group":["0","default_pg"],"collective_seq_id":8,
 *       "p2p_seq_id":0,"profiling_name":"nccl:all_reduce","time_created_ns":...,
 *       "input_sizes":[[1024]],"input_dtypes":["Float"],"output_sizes":...,"output_dtypes":...,
 *       "state":"started","time_discovered_started_ns":...,"time_discovered_completed_ns":0,
 *       "duration_ms":0.2,"is_p2p":false,...}]}
 *
 * A dump does not say when it was written (rank->undated): upon a timeout of the watchdog, or
 * on request, of a job that may be well. docs/inputs.md tells what else is made of it.
 */
#ifndef SPECTER_TRACE_FLIGHT_H
#define SPECTER_TRACE_FLIGHT_H

#include "base/json.h"
#include "trace/run.h"

#define FRDUMP_GROUPS_MAX 4096 /* process groups of one rank */

enum frdump_state { FRDUMP_SCHEDULED, FRDUMP_STARTED, FRDUMP_COMPLETED };

/* One call. Texts are views into the dump; p NULL: not there. Numbers: -1 not there. */
struct frdump_entry {
    struct json_text pg_name, pg_desc, what;
    struct json_text in_sizes, in_types, out_sizes, out_types; /* as they stand, lists */
    int64_t record_id, seq, p2p_seq;
    int64_t created_ns, started_ns, completed_ns, dur_ns, timeout_ns;
    int64_t pg_id;                /* of the group, among those of the process */
    uint32_t group;               /* index into groups */
    uint32_t before, joined_into; /* entries: the one before of its group; that with its state */
    uint8_t state;                /* enum frdump_state */
    bool p2p;
    bool coalesced; /* "coalesced": ends what was called between its begin and it */
};

/* A process group as this rank knows it. */
struct frdump_group {
    const char *name;   /* interned */
    int comm;           /* -1: not believable */
    int own;            /* member that this rank is; -1 */
    uint32_t last;      /* entry; UINT32_MAX */
    bool listed;        /* in "pg_config" */
    bool entries;       /* there are entries of it */
    int64_t number;     /* its name, of digits; -1 */
    int64_t pg_id;      /* -1 */
    int64_t called;     /* pg_status: the number of its last call; -1 */
    int64_t timeout_ns; /* the shortest of its calls that have not finished; UNKNOWN_NS */
};

/* The status of a group in "pg_status". */
struct frdump_status {
    int64_t pg_id;
    int64_t enqueued; /* number of the last call, of a collective or of a message; -1 */
};

struct frdump {
    struct run *run;
    struct rank *rank;
    const char *label;
    char *text; /* owned */
    size_t len;
    int64_t number;              /* the rank as the dump says it; -1 */
    struct frdump_group *groups; /* owned */
    size_t ngroups, cap_groups;
    struct frdump_entry *entries; /* owned */
    size_t nentries, cap_entries;
    struct frdump_status *status; /* owned */
    size_t nstatus, cap_status;
    bool ascending; /* the entries' own numbers are in their order; they tell what lies between */
    bool none_lost; /* no entry before or between those that are there was lost */
    const char *error; /* NULL, or what is wrong with the text, */
    size_t offset;     /* and at which byte */
};

/* Reads the next value, an entry, from j. */
void frdump_entry_read(struct frdump_entry *e, struct json *j);

/* Makes the rank's operations of the entries, once the groups are known. */
void frdump_ops(struct frdump *f);

#endif
