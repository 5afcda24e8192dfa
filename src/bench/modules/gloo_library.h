/* SPDX-License-Identifier: MIT
 *
 * libgloo, which is C++, for C. Functions return 0, or -1 with what gloo said in `why`.
 */
#ifndef SPECTER_BENCH_MODULES_GLOO_LIBRARY_H
#define SPECTER_BENCH_MODULES_GLOO_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

#include "bench/backend.h"

struct gloo_comm; /* a communicator */

/* Where one rank waits for the connection of another. */
struct gloo_address {
    uint64_t size;
    char bytes[192]; /* Address::kMaxByteSize */
};

/* A communicator of rank `rank` of `size` at `address` of this machine, over TCP, not connected
 * yet; `own` gets an address for each of the others, by rank. A call that waits for another rank
 * for longer than timeout_s fails. */
int gloo_open(int rank, int size, const char *address, double timeout_s, struct gloo_comm **gloo,
              struct gloo_address *own, char *why, size_t why_size);
/* Connects it with one of them; both do so, in the order of ranks. `peer`: what the other one's
 * gloo_open gave for this rank. */
int gloo_connect(struct gloo_comm *gloo, int rank, const struct gloo_address *peer, char *why,
                 size_t why_size);
void gloo_close(struct gloo_comm *gloo); /* NULL is fine */

bool gloo_has_type(enum specter_dtype type);
const char *gloo_version(void); /* "gloo 0.5.0" */

int gloo_call(struct gloo_comm *gloo, const struct bench_call *call, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif
#endif
