/* SPDX-License-Identifier: MIT
 *
 * The flight recorder's file: the same lines as any trace, in slots of fixed size, so that the file
 * keeps its size and holds the last of each kind however long the program runs, also after SIGKILL.
 *
 *   head      the init line
 *   comms, clocks, samples, marks, acts, pending, ops     bands of slots, filled round and round
 *   end       the closing record
 *
 * A slot is a line filled up with spaces. It is written twice, first with '#' in the place of its
 * first byte; readers pass over lines that are blank or begin with '#', so that they never see half
 * a line. No slot crosses a page, at whose boundary the kernel may stop a write when the process is
 * killed. Lines for neighbouring slots are written together.
 *
 * `pending` shows operations that are not finished after a second, the oldest first come; it stands
 * before `ops`, so that where both hold the same operation, the later line, which counts, is the
 * one that has ended.
 *
 * A band of operations, marks, acts or communicators has spare slots, as many as are written at
 * once. The next ones to be written are always spare: they begin with '#', and what is written into
 * them replaces nothing. Only when it is there, as many of the oldest become spare. So a kill at
 * any moment leaves all that the band is to keep.
 *
 * Marks have a band of their own, because where the steps begin is what the rest is read by, and
 * events and synchronisations may be many times as many.
 *
 * The space is allocated before anything is recorded. It is written with write(2) and not through a
 * mapping: a mapping of a file that another process cuts short would end the traced program.
 */
#ifndef SPECTER_TRACER_FLIGHT_H
#define SPECTER_TRACER_FLIGHT_H

#include "file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLIGHT_PENDING 1024
#define FLIGHT_BLOCK 65536 /* written or read at once: as much as any slot, or more */

/* Slots. A line that is longer than its slot is lost, so none may be. */
#define FLIGHT_COMM_BYTES 1024
#define FLIGHT_CLOCK_BYTES 256
#define FLIGHT_SAMPLE_BYTES 256
#define FLIGHT_ACT_BYTES 512 /* of marks, too */
#define FLIGHT_OP_BYTES 1024
#define FLIGHT_END_BYTES 61440

enum flight_band {
    FLIGHT_HEAD,
    FLIGHT_COMMS,
    FLIGHT_CLOCKS,
    FLIGHT_SAMPLES,
    FLIGHT_MARKS,
    FLIGHT_ACTS,
    FLIGHT_SHOWN,
    FLIGHT_OPS,
    FLIGHT_END,
    FLIGHT_BANDS
};

/* Neighbouring slots of a band. */
struct flight_run {
    int band;
    uint64_t slot;  /* the first */
    uint32_t count; /* 0: none */
    char block[FLIGHT_BLOCK];
};

struct flight {
    struct file *file; /* borrowed */
    struct {
        off_t at;
        uint32_t slot_bytes;
        uint64_t kept;       /* as many lines as are to be seen */
        uint64_t slots, put; /* the spare ones included; lines so far */
    } bands[FLIGHT_BANDS];
    uint64_t shown[FLIGHT_PENDING]; /* id + 1 of the operation in each slot of `pending` */
    uint32_t nshown;
    struct flight_run runs[2]; /* that wait to be written: of operations, and of the others */
};

/* Lays the file out for `ring` operations, as many marks, and as many of the other records without
 * ids. init: the first line.
 * 0, or an errno. max_bytes: 0 or what the file may have (EFBIG). */
int flight_open(struct flight *f, struct file *file, uint64_t ring, int64_t max_bytes,
                const char *init, size_t len);

/* Stores a line, its newline included; it is in the file after flight_sync(). 0, or an errno:
 * EMSGSIZE when it does not fit its slot, EAGAIN when FLIGHT_SHOWN is full. id: of an operation. */
int flight_put(struct flight *f, enum flight_band band, uint64_t id, const char *line, size_t len);
int flight_sync(struct flight *f);

/* The operation is no longer pending, once the line that says so is stored. 0, or an errno. */
int flight_unshow(struct flight *f, uint64_t id);

uint64_t flight_ops(const struct flight *f);  /* operations in the file */
uint64_t flight_gone(const struct flight *f); /* that have fallen out of the ring */

/* Writes what is there as an ordinary trace, each band from its oldest line on. 0, or an errno. */
int flight_copy(struct flight *f, int to);

#endif
