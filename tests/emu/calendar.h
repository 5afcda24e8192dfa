/* SPDX-License-Identifier: MIT
 *
 * Use of a device's ports and memory over time: equal bins over a span of virtual time, each with
 * the ns of that time for which the port is busy. A further use of a port gets the rest of each
 * bin, so the same time is never used twice and no free time is lost; within a bin the rest is
 * spread evenly.
 *
 *     calendar_add(&busy, PORT_NVLINK_OUT, 100, 180, 80);    busy for 80 ns, from 100 to 180
 *     end = calendar_pass(&path, 90, 30);                    30 ns from 90 on: until 200
 *
 * Times are virtual ns. A calendar is plain data of fixed size: it is handed on in shared memory.
 * Its span begins at `from` and grows by doubling the bins, which are a power of two of ns long.
 */
#ifndef EMU_CALENDAR_H
#define EMU_CALENDAR_H

#include <stdint.h>

#define CALENDAR_BINS 64

enum port {
    PORT_NVLINK_OUT, /* each way of a link has its own rate */
    PORT_NVLINK_IN,
    PORT_NIC_OUT,
    PORT_NIC_IN,
    PORT_MEMORY, /* traffic in the device's memory, as time at the rate that it reaches */
    PORTS
};

struct calendar {
    uint64_t from;
    uint64_t bin; /* ns; 0: empty, and the rest is undefined */
    float busy[PORTS][CALENDAR_BINS];
};

/* Empty, from here on; what lies earlier is not kept. */
void calendar_reset(struct calendar *c, uint64_t from);

/* `work` ns of the port's time, spread evenly from `begin` to `end`. */
void calendar_add(struct calendar *c, enum port port, double begin, double end, double work);

/* Adds what `other` holds after c->from and before `until`. */
void calendar_merge(struct calendar *c, const struct calendar *other, double until);

/* Two ports that something needs at once, such as both ends of a link. */
struct calendar_path {
    enum port port[2];
    const struct calendar *busy[2]; /* what others take; NULL: nothing */
    struct calendar *used[2];       /* gets what passes; NULL: not wanted */
};

/* When `work` ns that begin at `t` are through, in the time that others leave. */
double calendar_pass(const struct calendar_path *path, double t, double work);

#endif
