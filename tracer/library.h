/* SPDX-License-Identifier: MIT
 *
 * The file that a function of this process came from, for traces: which of several builds of a
 * library a run used.
 */
#ifndef SPECTER_TRACER_LIBRARY_H
#define SPECTER_TRACER_LIBRARY_H

#include <stdint.h>

#define LIBRARY_PATH_MAX 256 /* bytes; a longer one loses its front */

struct library {
    char path[LIBRARY_PATH_MAX + 1]; /* "": not known */
    char build_id[65];               /* hexadecimal; "": it has none */
};

/* function: its address; 0: none, and nothing is known. */
void library_of(struct library *l, uintptr_t function);

#endif
