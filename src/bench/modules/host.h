/* SPDX-License-Identifier: MIT
 *
 * Shared by the modules of libraries without a GPU: buffers in host memory and the host's clock.
 * Their calls return when they are done, so a buffer is ready and a mark is taken at once.
 *
 * A module is linked with host.c and with what the program exports (exports.list), and with
 * nothing else of specter.
 */
#ifndef SPECTER_BENCH_MODULES_HOST_H
#define SPECTER_BENCH_MODULES_HOST_H

#include "bench/backend.h"

struct bench_comm {
    struct bench_members members; /* as it was opened */
    void *handle;                 /* the library's communicator; the module's own */
    char library[96];             /* "Open MPI 4.1.4" */
    double *marks_us;             /* owned; by mark */
    size_t nmarks;
};

/* A communicator without a handle; NULL with e filled. Owned: bench_host_free. */
struct bench_comm *bench_host_new(const struct bench_members *m, struct err *e);
void bench_host_free(struct bench_comm *comm); /* NULL is fine */

/* Part of bench_backend, the same for every module. */
void bench_host_identify(const struct bench_comm *comm, struct bench_identity *out);
int bench_host_alloc(struct bench_comm *comm, size_t bytes, void **buffer, struct err *e);
void bench_host_release(struct bench_comm *comm, void *buffer);
int bench_host_free_bytes(struct bench_comm *comm, size_t *bytes, struct err *e);
int bench_host_copy(struct bench_comm *comm, void *to, const void *from, size_t bytes,
                    struct err *e);
int bench_host_set(struct bench_comm *comm, void *to, int value, size_t bytes, struct err *e);
int bench_host_mark(struct bench_comm *comm, size_t i, struct err *e);
double bench_host_us(struct bench_comm *comm, size_t from, size_t to);
int bench_host_wait(struct bench_comm *comm, struct err *e);

#define BENCH_HOST_BACKEND                                                                     \
    .identify = bench_host_identify, .alloc = bench_host_alloc, .release = bench_host_release, \
    .free_bytes = bench_host_free_bytes, .put = bench_host_copy, .get = bench_host_copy,       \
    .set = bench_host_set, .mark = bench_host_mark, .us = bench_host_us, .wait = bench_host_wait

#endif
