/* SPDX-License-Identifier: MIT
 *
 * A row for each name: from an interned text and a number beside it to a small index, in order of
 * first sight. Interned, so that the pointer stands for the text.
 *
 *     struct names n = {0};
 *     uint32_t row = names_add(&n, op->name, op->class);    equal pairs give equal rows: 0, 1, 2...
 *     names_release(&n);
 */
#ifndef SPECTER_ANALYSIS_NAMES_H
#define SPECTER_ANALYSIS_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct names {
    struct names_slot {
        const char *name;
        uint32_t tag;
        uint32_t row; /* plus one; 0: free */
    } * slots;        /* owned; never more than half full */
    size_t nslots;
    uint32_t count;
};

uint32_t names_add(struct names *n, const char *name, uint32_t tag);
void names_release(struct names *n);

#endif
