/* SPDX-License-Identifier: MIT
 *
 * The trace file of this process. Lines are written whole, in batches; after a failure the file is
 * cut back to its last whole line. And what others ask of it while it is written.
 */
#ifndef SPECTER_TRACER_FILE_H
#define SPECTER_TRACER_FILE_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct file {
    int fd;     /* -1: none */
    dev_t dev;  /* what fd must still be: a program that closes all descriptors may since have */
    ino_t ino;  /* opened something of its own under our number */
    off_t size; /* bytes written; always at the end of a line */
    int dir;    /* the folder, which a program that changes its own does not change; -1: none */
    dev_t dir_dev;
    ino_t dir_ino;
    char base[160];      /* name in the folder */
    char name[PATH_MAX]; /* for messages */
};

/* Moves a new descriptor of the tracer's out of the program's way: from 200 on, where there is
 * room. Returns the number it then has; a negative fd is returned as it is. */
int file_move_up(int fd);

/* Makes the directory (0700) and in it a new file of ours (0600, never an existing one, never
 * through a link). 0, or an errno; f->name then says where. */
int file_open(struct file *f, const struct config *c);

bool file_is_ours(const struct file *f); /* fd is still the file */

/* Takes the space for a file of that size, which cannot run out afterwards. 0, or an errno:
 * EOPNOTSUPP on a file system that cannot. */
int file_allocate(struct file *f, off_t bytes);

/* Writes whole lines. 0, or the errno of what failed; *kept then tells how many bytes of `lines`
 * are in the file, which ends with a whole line. */
int file_write(struct file *f, const char *lines, size_t len, size_t *kept);

/* Writes lines in the place of those from `at` on, which are no longer. 0, or an errno. */
int file_replace(struct file *f, off_t at, const char *lines, size_t len);

/* Takes the last lines off the file, whole ones, as many as fit into buf; returns their length. A
 * file that is not twice that long stays as it is: 0. */
size_t file_cut_tail(struct file *f, char *buf, size_t size);

void file_discard(struct file *f); /* removes the file, if one was made */

void file_close(struct file *f); /* leaves alone what is no longer ours */

/* ---- requests ----
 *
 * `specter dump` asks running tracers for what they have by a file in their folder, whose one line
 * names the folder beside it that the answers go into. Looking costs a stat a few times a second.
 */

#define REQUEST_NAME_MAX 64

struct dump_request {
    int64_t polled_ns; /* on the pacing clock */
    bool begun;        /* the folder was read at least once */
    ino_t ino;         /* the last one that was seen */
    struct timespec made;
};

/* Returns whether there is a new request. One that the first call finds is not new: it was there
 * before this process had a file, so it asks other processes, or was left behind. folder: a name
 * without a slash. Only requests of the user and of root count: the folder may be writable for
 * others. */
bool request_poll(struct dump_request *q, const struct file *f, char folder[REQUEST_NAME_MAX]);

/* Puts the file where the request wants it: the file itself under another name, when it is an
 * ordinary trace, else what `copy` writes. 0, or an errno. */
int request_answer(const struct file *f, const char *folder, int (*copy)(void *arg, int fd),
                   void *arg);

/* ---- the flight recorder's file (flight.c) ----
 *
 * The same lines as any trace, in slots of fixed size, so that the file
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
 * mapping: a mapping of a file that another process cuts short would end the traced program. */

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
