/* SPDX-License-Identifier: MIT
 *
 * The files of a run, read by several processes: each reads its share, every parts-th file, and
 * gives away what it read as records of bytes; who has the records of all shares puts the run
 * together as if it had read the files itself. All of these processes
 * need the folder with the files: each finds out for itself which of them are read, and the last
 * checks that they are the same.
 *
 *     struct load_share share = {2, 4, NULL, put, arg};  in each of 4 processes
 *     run_load(&run, path, &(struct load_opts){.share = &share}, e);
 *
 *     load_shared_add(&shared, bytes, len, "shard-2-of-4", e);           all that put() got
 *     run_load(&run, path, &(struct load_opts){.shared = &shared}, e);
 *     load_shared_release(&shared);
 *
 * Files that complete those of another format (reader.h) are read by who puts the run together.
 */
#ifndef SPECTER_TRACE_SHARE_H
#define SPECTER_TRACE_SHARE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/idmap.h"
#include "trace/run.h"

#include <stdbool.h>
#include <stdint.h>

struct load_share {
    uint32_t part, parts; /* part is from 1 */

    /* Called once, before any file is read, with a hash of the paths, sizes and dates of the files
     * of all shares. Returns whether they are to be read. NULL: they are. */
    bool (*wanted)(void *arg, uint64_t files_hash);

    /* Takes one record, valid during the call; one thread at a time. */
    void (*put)(void *arg, const void *record, size_t len);
    void *arg;
};

struct load_shared {
    struct idmap paths;         /* of files, by hash */
    struct shared_record *list; /* owned; by number in paths */
    size_t cap;
};

/* Adds records, one after another, which must stay valid until load_shared_release(). `label` names
 * where they are from. -1 with e filled (ERR_INPUT): they are cut, damaged or of another program.
 */
int load_shared_add(struct load_shared *s, const char *bytes, size_t len, const char *label,
                    struct err *e);
void load_shared_release(struct load_shared *s);

/* ---- for load.c ---- */

struct read_job;

/* Returns whether this process is to read files of all these jobs: wanted(). */
bool load_share_wanted(const struct load_share *share, const struct read_job *jobs, size_t n);

void load_share_pack(struct buf *out, const struct read_job *job);

/* Puts into the parts and the job's failures what another process read of the job's file. Marks
 * the record as taken. -1 with e filled: none has read it, or the file is not the same any more. */
int load_shared_take(struct load_shared *s, struct read_job *job, struct run *parts, size_t nparts,
                     struct err *e);

/* -1 with e filled: another process has read a file that is not there any more. */
int load_shared_all_taken(const struct load_shared *s, struct err *e);

/* ---- a part as bytes (pack.c) ----
 *
 * The result of reading one file, as bytes: so it travels from the process that read the file to
 * the one that puts the run together. The bytes are those of this version of the program on this
 * kind of machine (pack_form()). Damage of them is found by share.c; indexes are checked here,
 * other figures are believed.
 *
 *     run_pack(&bytes, &part);
 *     if (run_unpack(&copy, bytes.data, bytes.len, e) == 0) ...   copy holds what part holds
 */

/* Appends a part as its reader left it: ranks, communicators, notes, and what a reader says of the
 * whole (struct run). */
void run_pack(struct buf *out, const struct run *part);

/* Into a run that was initialised and is empty. Texts are interned. -1 with e filled (ERR_INPUT):
 * these are not the bytes of a part; the run must be released in either case. */
int run_unpack(struct run *part, const char *data, size_t len, struct err *e);

/* Equal where one program can read what the other has packed. */
uint64_t pack_form(void);

#endif
