/* SPDX-License-Identifier: MIT
 *
 * The file of --ring: lines in slots of fixed size, of which the oldest give way (file.h).
 */
#include "file.h"

#include "specter/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096

/* Lines that a band keeps, 0: as many as the ring; and whether it has spare slots. Sizes divide a
 * page or are pages. */
static const struct {
    uint32_t slot_bytes, kept;
    bool has_spare;
} layout[FLIGHT_BANDS] = {
    [FLIGHT_COMMS] = {FLIGHT_COMM_BYTES, 256, true},
    [FLIGHT_CLOCKS] = {FLIGHT_CLOCK_BYTES, 64, false},
    [FLIGHT_SAMPLES] = {FLIGHT_SAMPLE_BYTES, 16, false},
    [FLIGHT_MARKS] = {FLIGHT_ACT_BYTES, 0, true},
    [FLIGHT_ACTS] = {FLIGHT_ACT_BYTES, 0, true},
    [FLIGHT_SHOWN] = {FLIGHT_OP_BYTES, FLIGHT_PENDING, false},
    [FLIGHT_OPS] = {FLIGHT_OP_BYTES, 0, true},
    [FLIGHT_END] = {FLIGHT_END_BYTES, 1, false},
};

_Static_assert(FLIGHT_END_BYTES % PAGE == 0, "the closing record has pages of its own");

static off_t round_up(off_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static off_t lay_out(struct flight *f, uint64_t ring, size_t init_len)
{
    off_t at = 0;
    for (int i = 0; i < FLIGHT_BANDS; i++) {
        uint32_t bytes =
            i == FLIGHT_HEAD ? (uint32_t)round_up((off_t)init_len) : layout[i].slot_bytes;
        uint64_t kept = i == FLIGHT_HEAD ? 1 : layout[i].kept != 0 ? layout[i].kept : ring;
        f->bands[i].at = at;
        f->bands[i].slot_bytes = bytes;
        f->bands[i].kept = kept;
        f->bands[i].slots = kept + (layout[i].has_spare ? FLIGHT_BLOCK / bytes : 0);
        at += round_up((off_t)(f->bands[i].slots * bytes));
    }
    return at;
}

/* Not by pwrite(), for what file.c says. */
static int write_at(const struct flight *f, const char *bytes, size_t len, off_t at)
{
    if (lseek(f->file->fd, at, SEEK_SET) != at)
        return errno;
    while (len > 0) {
        ssize_t n = write(f->file->fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? EIO : errno;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Blank slots; what a page has left behind the last one is blank lines, too. */
static int write_blank(struct flight *f, int band)
{
    uint32_t slot = f->bands[band].slot_bytes;
    off_t at = f->bands[band].at, end = at + round_up((off_t)(f->bands[band].slots * slot));
    char *block = f->runs[0].block;
    off_t most = FLIGHT_BLOCK / slot * slot;
    int error = 0;
    memset(block, ' ', (size_t)most);
    for (off_t i = slot - 1; i < most; i += slot)
        block[i] = '\n';
    for (; at < end && error == 0; at += most)
        error = write_at(f, block, (size_t)(end - at < most ? end - at : most), at);
    return error;
}

int flight_open(struct flight *f, struct file *file, uint64_t ring, int64_t max_bytes,
                const char *init, size_t len)
{
    off_t bytes;
    int error = 0;
    *f = (struct flight){.file = file};
    bytes = lay_out(f, ring, len);
    if (len > SPECTER_LINE_MAX - PAGE || (max_bytes > 0 && bytes > max_bytes))
        return EFBIG;
    error = file_allocate(file, bytes);
    for (int i = FLIGHT_COMMS; i < FLIGHT_BANDS && error == 0; i++)
        error = write_blank(f, i);
    if (error == 0)
        error = flight_put(f, FLIGHT_HEAD, 0, init, len);
    return error == 0 ? flight_sync(f) : error;
}

static void set_first_bytes(struct flight_run *run, uint32_t slot_bytes, char byte)
{
    for (uint32_t i = 0; i < run->count; i++)
        run->block[(size_t)i * slot_bytes] = byte;
}

/* The oldest lines make room for those of a later run, now that this one is written. Before the
 * first round has come to the slots, they are blank anyway. */
static int make_spare(struct flight *f, const struct flight_run *run)
{
    uint64_t slots = f->bands[run->band].slots, spare = slots - f->bands[run->band].kept;
    int error = 0;
    for (uint32_t i = 0; spare > 0 && i < run->count && error == 0; i++) {
        uint64_t slot = (run->slot + i + spare) % slots;
        if (f->bands[run->band].put > slot)
            error = write_at(
                f, "#", 1, f->bands[run->band].at + (off_t)(slot * f->bands[run->band].slot_bytes));
    }
    return error;
}

static int write_run(struct flight *f, struct flight_run *run)
{
    uint32_t slot = f->bands[run->band].slot_bytes;
    size_t len = (size_t)run->count * slot;
    off_t at = f->bands[run->band].at + (off_t)(run->slot * slot);
    int error;
    set_first_bytes(run, slot, '#');
    error = write_at(f, run->block, len, at);
    set_first_bytes(run, slot, '{');
    if (error == 0)
        error = write_at(f, run->block, len, at);
    if (error == 0)
        error = make_spare(f, run);
    run->count = 0;
    return error;
}

int flight_sync(struct flight *f)
{
    int others = write_run(f, &f->runs[1]), ops = write_run(f, &f->runs[0]);
    return others != 0 ? others : ops;
}

static int put_slot(struct flight *f, int band, uint64_t slot, const char *line, size_t len)
{
    struct flight_run *run = &f->runs[band != FLIGHT_OPS];
    uint32_t bytes = f->bands[band].slot_bytes;
    char *text;
    int error = 0;
    if (len > bytes)
        return EMSGSIZE;
    if (run->count > 0 && (band != run->band || slot != run->slot + run->count ||
                           (run->count + 1) * bytes > FLIGHT_BLOCK))
        error = write_run(f, run);
    if (run->count == 0) {
        run->band = band;
        run->slot = slot;
    }
    text = run->block + (size_t)run->count++ * bytes;
    memset(text, ' ', bytes);
    memcpy(text, line, len - 1);
    text[bytes - 1] = '\n';
    return error;
}

/* A free slot of the pending ones, or their number. */
static uint32_t find_shown(const struct flight *f, uint64_t key)
{
    uint32_t i = 0;
    while (i < FLIGHT_PENDING && f->shown[i] != key)
        i++;
    return i;
}

static int put_shown(struct flight *f, uint64_t id, const char *line, size_t len)
{
    uint32_t slot = f->nshown < FLIGHT_PENDING ? find_shown(f, 0) : FLIGHT_PENDING;
    int error;
    if (slot == FLIGHT_PENDING)
        return EAGAIN;
    error = put_slot(f, FLIGHT_SHOWN, slot, line, len);
    if (error == 0) {
        f->shown[slot] = id + 1;
        f->nshown++;
    }
    return error;
}

int flight_put(struct flight *f, enum flight_band band, uint64_t id, const char *line, size_t len)
{
    int error;
    if (band == FLIGHT_SHOWN)
        return put_shown(f, id, line, len);
    error = put_slot(f, band, f->bands[band].put % f->bands[band].slots, line, len);
    f->bands[band].put += error == 0;
    return error;
}

int flight_unshow(struct flight *f, uint64_t id)
{
    uint32_t slot = find_shown(f, id + 1);
    int error;
    if (slot == FLIGHT_PENDING)
        return 0;
    error = flight_sync(f);
    f->shown[slot] = 0;
    f->nshown--;
    return error != 0 ? error
                      : write_at(f, "#", 1,
                                 f->bands[FLIGHT_SHOWN].at +
                                     (off_t)slot * f->bands[FLIGHT_SHOWN].slot_bytes);
}

uint64_t flight_ops(const struct flight *f)
{
    uint64_t put = f->bands[FLIGHT_OPS].put, kept = f->bands[FLIGHT_OPS].kept;
    return (put < kept ? put : kept) + f->nshown;
}

uint64_t flight_gone(const struct flight *f)
{
    uint64_t put = f->bands[FLIGHT_OPS].put, kept = f->bands[FLIGHT_OPS].kept;
    return put < kept ? 0 : put - kept;
}

/* ---- as an ordinary trace ---- */

static int write_all(int to, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(to, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? EIO : errno;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Moves a slot's line, if there is one, to `to`, and returns its end there. */
static char *move_line(char *to, const char *slot, size_t len)
{
    len--;
    while (len > 0 && slot[len - 1] == ' ')
        len--;
    if (len == 0 || slot[0] != '{')
        return to;
    memmove(to, slot, len);
    to[len] = '\n';
    return to + len + 1;
}

/* Slots [from, to) of a band without what fills them up. */
static int copy_slots(struct flight *f, int band, uint64_t from, uint64_t to, int fd)
{
    uint32_t bytes = f->bands[band].slot_bytes;
    uint64_t most = FLIGHT_BLOCK / bytes, n;
    char *block = f->runs[0].block;
    int error = 0;
    for (; from < to && error == 0; from += n) {
        char *end = block;
        n = to - from < most ? to - from : most;
        if (pread(f->file->fd, block, n * bytes, f->bands[band].at + (off_t)(from * bytes)) !=
            (ssize_t)(n * bytes))
            return EIO;
        for (uint64_t i = 0; i < n; i++)
            end = move_line(end, block + i * bytes, bytes);
        error = write_all(fd, block, (size_t)(end - block));
    }
    return error;
}

int flight_copy(struct flight *f, int to)
{
    static const enum flight_band order[] = {FLIGHT_HEAD,    FLIGHT_COMMS, FLIGHT_CLOCKS,
                                             FLIGHT_SAMPLES, FLIGHT_MARKS, FLIGHT_ACTS,
                                             FLIGHT_OPS,     FLIGHT_SHOWN, FLIGHT_END};
    int error = flight_sync(f);
    for (size_t i = 0; i < sizeof order / sizeof *order && error == 0; i++) {
        uint64_t slots = f->bands[order[i]].slots, oldest = f->bands[order[i]].put % slots;
        error = copy_slots(f, order[i], oldest, slots, to);
        if (error == 0)
            error = copy_slots(f, order[i], 0, oldest, to);
    }
    return error;
}
