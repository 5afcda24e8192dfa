/* SPDX-License-Identifier: MIT */
#include "trace/devices.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* Values of works_for[] of a thread that works for no part, and for several. */
#define NO_PART UINT32_MAX
#define MANY_PARTS (UINT32_MAX - 1)

#define DEVICES_MAX 1024 /* of a process; more is damage, and not split */

struct parts {
    struct rank whole; /* owned */
    struct rank *list; /* [n] borrowed from the run */
    int32_t *devices;  /* owned; ascending */
    size_t n, cap;
    uint32_t *works_for; /* owned; by thread: a part, or one of the above */
};

/* ---- is it several? ---- */

static int by_comm(const void *pa, const void *pb)
{
    const struct membership *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    return ORDER(a->device, b->device);
}

static bool drives_several(const struct rank *rank)
{
    struct membership *in = NULL;
    size_t cap = 0;
    bool several = false;
    ARRAY_GROW(in, cap, rank->nin);
    memcpy(in, rank->in, rank->nin * sizeof *in);
    qsort(in, rank->nin, sizeof *in, by_comm);
    for (size_t i = 1; i < rank->nin && !several; i++)
        several = in[i].comm == in[i - 1].comm && in[i - 1].device >= 0 &&
                  in[i].device != in[i - 1].device;
    free(in);
    return several;
}

/* ---- parts ---- */

static uint32_t part_of(const struct parts *p, int32_t device)
{
    const int32_t *found = bsearch(&device, p->devices, p->n, sizeof device, order_ints);
    return found != NULL ? (uint32_t)(found - p->devices) : 0;
}

static void make_parts(struct parts *p, struct run *run)
{
    size_t first = run->nranks - 1;
    run->nranks--;
    for (size_t i = 0; i < p->n; i++) {
        struct rank *part = run_add_rank(run);
        /* Fields that all ranks of a process have in common. */
        part->rank = p->whole.rank;
        part->host = p->whole.host;
        part->file = p->whole.file;
        part->pid = p->whole.pid;
        part->coverage = p->whole.coverage;
        part->complete = p->whole.complete;
        part->torn = p->whole.torn;
        part->mono_ns = p->whole.mono_ns;
        part->real_ns = p->whole.real_ns;
        part->end_ns = p->whole.end_ns;
        part->dump_ns = p->whole.dump_ns;
        part->gemm_sample = p->whole.gemm_sample;
        part->nthreads = p->whole.nthreads;
        part->process = (int)first;
        part->device = p->devices[i];
    }
    p->list = &run->ranks[first];
    p->list[0].dropped = p->whole.dropped;
    p->list[0].bad_lines = p->whole.bad_lines;
    p->list[0].settings = p->whole.settings;
    p->list[0].nsettings = p->list[0].cap_settings = p->whole.nsettings;
    p->whole.settings = NULL;
    p->whole.nsettings = p->whole.cap_settings = 0;
}

/* ---- what names its device ---- */

/* The part that an operation, sync call or launch of that thread and device belongs to. */
static struct rank *give(struct parts *p, int32_t device, uint32_t tid)
{
    uint32_t part = part_of(p, device);
    if (tid < p->whole.nthreads) {
        uint32_t *works_for = &p->works_for[tid];
        *works_for = *works_for == NO_PART || *works_for == part ? part : MANY_PARTS;
    }
    return &p->list[part];
}

static void split_work(struct parts *p)
{
    const struct rank *whole = &p->whole;
    for (size_t i = 0; i < whole->nops; i++)
        *rank_add_op(give(p, whole->ops[i].device, whole->ops[i].tid)) = whole->ops[i];
    for (size_t i = 0; i < whole->nsync_calls; i++)
        *rank_add_sync_call(give(p, whole->sync_calls[i].device, whole->sync_calls[i].tid)) =
            whole->sync_calls[i];
    for (size_t i = 0; i < whole->nlaunches; i++) {
        const struct launches *l = &whole->launches[i];
        *rank_add_launches(give(p, l->device, l->tid)) = *l;
    }
    for (size_t i = 0; i < p->n && whole->nops + whole->nsync_calls > 0; i++)
        p->list[i].quiet = p->list[i].nops + p->list[i].nsync_calls == 0;
}

/* ---- what threads said ---- */

static uint32_t thread_part(const struct parts *p, uint32_t tid)
{
    return tid < p->whole.nthreads ? p->works_for[tid] : MANY_PARTS;
}

/* Gives `to` the steps that threads of that part marked; MANY_PARTS: of none or several. */
static void copy_steps(struct parts *p, struct rank *to, uint32_t part)
{
    for (size_t i = 0; i < p->whole.nsteps; i++) {
        uint32_t from = thread_part(p, p->whole.steps[i].tid);
        if (from == part || (from == NO_PART && part == MANY_PARTS))
            *rank_add_step(to) = p->whole.steps[i];
    }
}

void devices_split(struct run *run)
{
    struct parts p = {.whole = run->ranks[run->nranks - 1]};
    size_t cap = 0;
    if (p.whole.nin < 2 || !drives_several(&p.whole))
        return;
    size_t kept = 0;
    for (size_t i = 0; i < p.whole.nin; i++) {
        ARRAY_GROW(p.devices, p.cap, p.n + 1);
        p.devices[p.n] = p.whole.in[i].device;
        p.n += p.devices[p.n] >= 0;
    }
    qsort(p.devices, p.n, sizeof *p.devices, order_ints);
    for (size_t i = 0; i < p.n; i++) {
        if (kept == 0 || p.devices[i] != p.devices[kept - 1])
            p.devices[kept++] = p.devices[i];
    }
    p.n = kept;
    if (p.n <= DEVICES_MAX) {
        make_parts(&p, run);
        ARRAY_GROW(p.works_for, cap, p.whole.nthreads);
        for (size_t i = 0; i < p.whole.nthreads; i++)
            p.works_for[i] = NO_PART;
        split_work(&p);
        for (size_t i = 0; i < p.whole.nin; i++) {
            const struct membership *in = &p.whole.in[i];
            rank_add_member(&p.list[part_of(&p, in->device)], in->comm, in->rank, in->device);
        }
        for (size_t i = 0; i < p.whole.ndetails; i++) {
            const struct comm_detail *d = &p.whole.details[i];
            int32_t device = d->member < p.whole.nin ? p.whole.in[d->member].device : -1;
            *rank_add_detail(&p.list[part_of(&p, device)]) = *d;
        }
        for (uint32_t i = 0; i < p.n; i++) {
            copy_steps(&p, &p.list[i], i);
            if (p.list[i].nsteps == 0)
                copy_steps(&p, &p.list[i], MANY_PARTS);
            for (uint32_t k = 0; k < p.n && p.list[i].nsteps == 0; k++)
                copy_steps(&p, &p.list[i], k);
        }
        for (size_t i = 0; i < p.whole.nmarks; i++) {
            uint32_t part = thread_part(&p, p.whole.marks[i].tid);
            *rank_add_mark(&p.list[part < p.n ? part : 0]) = p.whole.marks[i];
        }
        rank_clear(&p.whole);
    }
    free(p.works_for);
    free(p.devices);
}
