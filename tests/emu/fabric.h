/* SPDX-License-Identifier: MIT
 *
 * The machine that the stand-ins imitate: read once from the file that EMU_FABRIC names, else the
 * defaults of fabric.def. Nothing here is shared with the models that the program under test uses.
 */
#ifndef EMU_FABRIC_H
#define EMU_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"

/* PCI bus number of a node's device. */
#define EMU_BUS(_device) ((0x1bu + (_device)*0x10u) & 0xffu)

/* The lines of a key that may stand more than once. */
#define EMU_LINES 32
#define EMU_LINE_NUMBERS 4
struct emu_list {
    unsigned count;
    double line[EMU_LINES][EMU_LINE_NUMBERS]; /* numbers that are not given are 0 */
};

struct emu_fabric {
#define TEXT(_key, _default) char _key[128];
#define INT(_key, _default) uint64_t _key;
#define REAL(_key, _default) double _key;
#define LIST(_key, _least, _most, _positive) struct emu_list _key;
#define API(_function, _ns)
#include "fabric.def"
#undef API
};

/* The loaded fabric; a bad file ends the process with a message and status 2, because a test that
 * ran on another machine than it asked for would be worse. */
EMU_API const struct emu_fabric *emu_fabric(void);

/* The time that a call of this function costs the host, in ns. */
EMU_API uint64_t emu_fabric_api_ns(const char *function);

/* The link from one GPU to another, by their numbers; `near`: through NVLink, else through their
 * network cards. */
struct emu_link {
    double GBps, latency_ns;
};
EMU_API struct emu_link emu_fabric_link(const struct emu_fabric *f, unsigned from, unsigned to,
                                        bool near);

/* The speed of a GPU in this run, as a factor of the fabric's figures: 1 unless slow_gpu or
 * run_jitter make it slower. */
EMU_API double emu_fabric_speed(const struct emu_fabric *f, unsigned gpu);

/* The value of one number, of a key whose lines are `NUMBER VALUE`; 0: no line has the number. */
EMU_API double emu_fabric_said(const struct emu_list *list, unsigned number);

/* Fills *f with the defaults, then with the text of a file. Returns 0, or the number of the line
 * that holds no `key = value` of fabric.def. The costs of calls are kept apart, process-wide. */
void emu_fabric_defaults(struct emu_fabric *f);
unsigned emu_fabric_parse(struct emu_fabric *f, const char *text, size_t len);

#endif
