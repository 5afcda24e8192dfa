/* SPDX-License-Identifier: MIT
 *
 * Jobs made by hand, for tests of grids: axes, the communicators that span them, and what those do.
 *
 *     const struct made_grid m = {{{GRID_TP, 2}, {GRID_DP, 4}}, 2};
 *     struct made_job j = make_job(&m, true);
 *     grid_find(&g, &j.in);
 *     release(&j);
 */
#ifndef SPECTER_TEST_MADE_GRID_H
#define SPECTER_TEST_MADE_GRID_H

#include "sim/grid/grid.h"
#include "test.h"
#include "trace/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AXES_MAX 5

struct made_axis {
    enum grid_role role;
    int size;
};

struct made_grid {
    struct made_axis axes[AXES_MAX]; /* innermost first */
    int n;
};

struct made_job {
    struct grid_input in;
    struct grid_comm *comms;
    struct grid_edge *edges;
    size_t cap_comms, cap_edges;
};

static inline void release(struct made_job *j)
{
    for (size_t c = 0; c < j->in.ncomms; c++) {
        free((void *)j->comms[c].ranks);
        free((void *)j->comms[c].id);
    }
    free(j->comms);
    free(j->edges);
}

static inline int stride_of(const struct made_grid *m, int axis)
{
    int stride = 1;
    for (int a = 0; a < axis; a++)
        stride *= m->axes[a].size;
    return stride;
}

static inline int world_of(const struct made_grid *m)
{
    return stride_of(m, m->n);
}

/* The members that `rank` has along these axes (bits). Borrowed until release(). */
static inline struct grid_comm *add_comm(struct made_job *j, const struct made_grid *m,
                                         unsigned axes, int rank, const char *name)
{
    int world = world_of(m), size = 0, *ranks = malloc((size_t)world * sizeof *ranks);
    char id[64];
    for (int r = 0; r < world; r++) {
        bool in = true;
        for (int a = 0; a < m->n; a++) {
            int stride = stride_of(m, a), n = m->axes[a].size;
            in = in && (axes & 1u << a || r / stride % n == rank / stride % n);
        }
        if (in)
            ranks[size++] = r;
    }
    snprintf(id, sizeof id, "%x@%d", axes, rank);
    ARRAY_GROW(j->comms, j->cap_comms, j->in.ncomms + 1);
    j->comms[j->in.ncomms] =
        (struct grid_comm){.id = strdup(id), .name = name, .size = size, .ranks = ranks};
    j->in.comms = j->comms;
    return &j->comms[j->in.ncomms++];
}

static inline void add_edge(struct made_job *j, int from, int to)
{
    ARRAY_GROW(j->edges, j->cap_edges, j->in.nedges + 1);
    j->edges[j->in.nedges++] = (struct grid_edge){from, to, .one_way = true};
    j->in.edges = j->edges;
}

/* Returns the traffic of groups of that role in one step of eight layers. */
static inline struct grid_traffic traffic_of(enum grid_role role)
{
    struct grid_traffic did = {.control = 1};
    switch (role) {
    case GRID_TP:
        did.calls[SPECTER_ALLREDUCE] = did.placed = 32;
        did.early = 8;
        break;
    case GRID_EP:
        did.calls[SPECTER_ALLTOALL] = 16;
        break;
    case GRID_FSDP:
        did.calls[SPECTER_ALLGATHER] = 16;
        did.calls[SPECTER_REDUCESCATTER] = 8;
        did.gather_run = 8;
        break;
    case GRID_DP:
        did.calls[SPECTER_ALLREDUCE] = did.placed = 4;
        break;
    default:
        did.calls[SPECTER_SEND] = did.calls[SPECTER_RECV] = 16;
        did.fewest_sent = 1;
        did.one_way = true;
    }
    return did;
}

/* A pipeline sends to the next stage and back; a ring of contexts to the next only, and around. */
static inline void add_messages(struct made_job *j, const struct made_grid *m, int axis)
{
    int world = world_of(m), stride = stride_of(m, axis), n = m->axes[axis].size;
    for (int r = 0; r < world; r++) {
        int at = r / stride % n, next = r + stride * (at + 1 < n ? 1 : 1 - n);
        if (m->axes[axis].role == GRID_CP) {
            add_edge(j, r, next);
        } else if (at + 1 < n) {
            add_edge(j, r, next);
            add_edge(j, next, r);
        }
    }
}

/* All communicators of the axis, with what they do where `busy`. */
static inline void add_axis(struct made_job *j, const struct made_grid *m, int axis, bool busy,
                            const char *name)
{
    int world = world_of(m), stride = stride_of(m, axis);
    for (int r = 0; r < world; r++) {
        struct grid_comm *comm;
        if (r / stride % m->axes[axis].size != 0)
            continue;
        comm = add_comm(j, m, 1u << axis, r, name);
        if (busy)
            comm->did = traffic_of(m->axes[axis].role);
    }
    if (busy && (m->axes[axis].role == GRID_PP || m->axes[axis].role == GRID_CP))
        add_messages(j, m, axis);
}

static inline struct made_job make_job(const struct made_grid *m, bool busy)
{
    struct made_job j = {.in = {.world = world_of(m), .steps = 1}};
    add_comm(&j, m, (1u << m->n) - 1, 0, "")->did.control = 1;
    for (int a = 0; a < m->n; a++)
        add_axis(&j, m, a, busy, "");
    return j;
}

/* A run with the job's communicators, and without ranks. */
static inline void run_of_job(struct run *run, const struct made_job *j)
{
    run_init(run);
    run->world_size = j->in.world;
    for (size_t c = 0; c < j->in.ncomms; c++) {
        int at = run_comm(run, j->comms[c].id, strlen(j->comms[c].id), j->comms[c].size);
        memcpy(run->comms[at].ranks, j->comms[c].ranks,
               (size_t)j->comms[c].size * sizeof *j->comms[c].ranks);
    }
}

static inline void check_axes(const struct grid *g, const struct made_grid *m)
{
    int seen = 0;
    CHECK_INT(g->state, GRID_FOUND);
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].size == 1)
            continue;
        CHECK_STR(grid_role_name(g->axes[a].role), grid_role_name(m->axes[seen].role));
        CHECK_INT(g->axes[a].size, m->axes[seen].size);
        CHECK_INT(g->axes[a].stride, stride_of(m, seen));
        if (++seen == m->n)
            break;
    }
    CHECK_INT(seen, m->n);
}

#endif
