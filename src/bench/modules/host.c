/* SPDX-License-Identifier: MIT */
#include "bench/modules/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE ((size_t)4096)

/* ---- opening ---- */

struct bench_comm *bench_host_new(const struct bench_members *m, struct err *e)
{
    struct bench_comm *c = calloc(1, sizeof *c);
    if (c == NULL) {
        err_set(e, ERR_INPUT, "out of memory");
        return NULL;
    }
    c->members = *m;
    return c;
}

void bench_host_free(struct bench_comm *c)
{
    if (c == NULL)
        return;
    free(c->marks_us);
    free(c);
}

void bench_host_identify(const struct bench_comm *c, struct bench_identity *out)
{
    *out = (struct bench_identity){.library = c->library, .device = "CPU"};
}

/* ---- memory ---- */

int bench_host_alloc(struct bench_comm *c, size_t bytes, void **buffer, struct err *e)
{
    (void)c;
    *buffer = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (*buffer == NULL)
        return err_set(e, ERR_INPUT, "no memory for %zu bytes", bytes);
    memset(*buffer, 1, bytes); /* memory that was never written is one page of zeros, and fast */
    return 0;
}

void bench_host_release(struct bench_comm *c, void *buffer)
{
    (void)c;
    free(buffer);
}

/* This process's share of what the kernel can give without swapping. */
int bench_host_free_bytes(struct bench_comm *c, size_t *bytes, struct err *e)
{
    FILE *in = fopen("/proc/meminfo", "r");
    char line[256];
    unsigned long long kib = 0;
    while (in != NULL && kib == 0 && fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, "MemAvailable:", strlen("MemAvailable:")) == 0)
            kib = strtoull(line + strlen("MemAvailable:"), NULL, 10);
    }
    if (in != NULL)
        fclose(in);
    *bytes = (size_t)kib * 1024 / (size_t)(c->members.neighbours > 0 ? c->members.neighbours : 1);
    return kib > 0 ? 0 : err_set(e, ERR_INPUT, "/proc/meminfo says no MemAvailable");
}

int bench_host_copy(struct bench_comm *c, void *to, const void *from, size_t bytes, struct err *e)
{
    (void)c;
    (void)e;
    memcpy(to, from, bytes);
    return 0;
}

int bench_host_set(struct bench_comm *c, void *to, int value, size_t bytes, struct err *e)
{
    (void)c;
    (void)e;
    memset(to, value, bytes);
    return 0;
}

/* ---- time ---- */

int bench_host_mark(struct bench_comm *c, size_t i, struct err *e)
{
    struct timespec t;
    if (i >= c->nmarks) {
        size_t count = 2 * i + 64;
        double *marks = realloc(c->marks_us, count * sizeof *marks);
        if (marks == NULL)
            return err_set(e, ERR_INPUT, "out of memory");
        c->marks_us = marks;
        c->nmarks = count;
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    c->marks_us[i] = (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
    return 0;
}

double bench_host_us(struct bench_comm *c, size_t from, size_t to)
{
    return c->marks_us[to] - c->marks_us[from];
}

int bench_host_wait(struct bench_comm *c, struct err *e)
{
    return bench_ranks_check(c->members.ranks, e);
}
