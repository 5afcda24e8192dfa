/* SPDX-License-Identifier: MIT
 *
 * Small parallel programs on the stand-in GPU stack, beside the training example: each is a way to
 * divide work that the example does not have. They compute nothing: products, kernels and
 * communication have the sizes of such a program, and the order and streams. A replay is held
 * against them (scripts/replay-accuracy.sh).
 *
 * A program is a row of the table in programs.c: `start` makes its groups, `step` is one step of
 * it. All buffers are parts of one large piece of device memory, whose values are never read.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "start.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIB ((size_t)1 << 20)
#define STREAMS 3

enum { COMPUTE, COMM, OTHER };

/* Communicators of a rank's groups; NULL where the program has no such groups. */
struct groups {
    ncclComm_t inner, outer, third;
};

struct job {
    int rank, world, at; /* at: the number of the step */
    ncclComm_t all;
    struct groups in;
    int inner_size, inner_rank, third_size, third_rank;
    cudaStream_t streams[STREAMS];
    cudaEvent_t *events; /* used in turn */
    unsigned next_event;
    cublasHandle_t cublas;
    char *memory;
};

struct program {
    const char *name;
    void (*start)(struct job *j);
    void (*step)(struct job *j);
};

/* ---- groups: ranks are numbered inner first, then third, then outer ---- */

/* Groups of `inner` neighbours, and of ranks with the same place in them. */
void make_two_groups(struct job *j, int inner);

/* As above, with groups of `third` between the two: rank = inner + size * (third + size * outer).
 */
void make_three_groups(struct job *j, int inner, int third);

/* ---- work, on a stream ---- */

void host_work(uint64_t ns);
void product(struct job *j, int m, int n, int k); /* bf16, on COMPUTE */
void kernel(struct job *j, int stream, const char *name, size_t bytes);
void fixed_kernel(struct job *j, int stream, const char *name, uint64_t ns);

/* Makes work launched on `later` from here on wait for the work launched on `earlier` so far. */
void order(struct job *j, int earlier, int later);

/* ---- communication: bytes of the full buffer ---- */

void all_reduce(struct job *j, ncclComm_t comm, int stream, size_t bytes);
void all_gather(struct job *j, ncclComm_t comm, int stream, size_t bytes);
void reduce_scatter(struct job *j, ncclComm_t comm, int stream, size_t bytes);
void broadcast(struct job *j, ncclComm_t comm, int stream, size_t bytes);
void reduce(struct job *j, ncclComm_t comm, int stream, size_t bytes);
void all_to_all(struct job *j, ncclComm_t comm, int stream, size_t bytes); /* that a rank sends */
void swap(struct job *j, ncclComm_t comm, int stream, size_t bytes, int to, int from);
void put(struct job *j, ncclComm_t comm, int stream, size_t bytes, int to);
void take(struct job *j, ncclComm_t comm, int stream, size_t bytes, int from);

/* Reads the loss: the host waits for the compute stream. */
void read_loss(struct job *j);

/* A number below `below` that follows from a and b alone. */
unsigned pick(unsigned a, unsigned b, unsigned below);

extern const struct program data_programs[], model_programs[], exchange_programs[];

#endif
