/* SPDX-License-Identifier: MIT
 *
 * A row for each name: from an interned text and a number beside it to a small index, in order of
 * first sight. Interned, so that the pointer stands for the text.
 *
 *     struct name_index n = {0};
 *     uint32_t row = name_index_add(&n, op->name, op->class);    equal pairs give equal rows
 *     name_index_release(&n);
 */
#ifndef SPECTER_ANALYSIS_NAME_INDEX_H
#define SPECTER_ANALYSIS_NAME_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct name_index {
    struct name_index_slot {
        const char *name;
        uint32_t tag;
        uint32_t row; /* plus one; 0: free */
    } * slots;        /* owned; never more than half full */
    size_t nslots;
    uint32_t count;
};

uint32_t name_index_add(struct name_index *n, const char *name, uint32_t tag);
void name_index_release(struct name_index *n);

#endif
