/* SPDX-License-Identifier: MIT */
#include "cmd/sweep_id.h"

#include "base/buf.h"
#include "base/hash.h"
#include "cmd/hardware.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t put_text(uint64_t h, const char *text)
{
    return hash_bytes(h, text,
                      strlen(text) + 1); /* with its end, so that "a","bc" is not "ab","c" */
}

/* Least significant byte first, whatever the machine's order. */
static uint64_t put_number(uint64_t h, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        h = hash_byte(h, (unsigned char)(value >> 8 * i));
    return h;
}

/* ---- a recording ---- */

static int64_t difference(int64_t a, int64_t b)
{
    return a == UNKNOWN_NS || b == UNKNOWN_NS ? UNKNOWN_NS : a - b;
}

static uint64_t put_comm(uint64_t h, const struct run *run, const struct op *op)
{
    h = put_text(h, op->coll.comm >= 0 ? run->comms[op->coll.comm].id : "");
    h = put_number(h, (uint64_t)op->coll.seq);
    h = put_number(h, (uint64_t)op->coll.group);
    h = put_number(h, (uint64_t)op->coll.peer);
    return put_number(h, op->coll.op);
}

static uint64_t put_gemm(uint64_t h, const struct op *op)
{
    h = put_number(h, op->gemm.m);
    h = put_number(h, op->gemm.n);
    h = put_number(h, op->gemm.k);
    return put_number(h, op->gemm.batch);
}

static uint64_t put_op(uint64_t h, const struct run *run, const struct op *op, int64_t before_ns)
{
    h = put_text(h, op->name);
    h = put_number(h, op->class);
    h = put_number(h, op->dtype);
    h = put_number(h, op->timing);
    h = put_number(h, op->bytes);
    h = put_number(h, (uint64_t)op->stream);
    h = put_number(h, (uint64_t)op->dur_ns);
    h = put_number(h, (uint64_t)difference(op->host_ns, before_ns));
    h = put_number(h, (uint64_t)difference(op->host_end_ns, op->host_ns));
    if (op->class == OP_COLL || op->class == OP_P2P)
        return put_comm(h, run, op);
    return op->class == OP_GEMM ? put_gemm(h, op) : h;
}

static uint64_t put_sync_call(uint64_t h, const struct sync_call *sync)
{
    h = put_number(h, sync->kind);
    h = put_number(h, (uint64_t)sync->stream);
    h = put_number(h, (uint64_t)sync->event);
    return put_number(h, (uint64_t)difference(sync->host_end_ns, sync->host_ns));
}

static uint64_t put_rank(uint64_t h, const struct run *run, const struct rank *rank)
{
    h = put_number(h, (uint64_t)rank->rank);
    h = put_text(h, rank->gpu);
    h = put_number(h, rank->nops);
    for (size_t i = 0; i < rank->nops; i++)
        h = put_op(h, run, &rank->ops[i], i > 0 ? rank->ops[i - 1].host_ns : UNKNOWN_NS);
    h = put_number(h, rank->nsync_calls);
    for (size_t i = 0; i < rank->nsync_calls; i++)
        h = put_sync_call(h, &rank->sync_calls[i]);
    h = put_number(h, rank->nlaunches);
    for (size_t i = 0; i < rank->nlaunches; i++)
        h = put_number(h, rank->launches[i].count);
    h = put_number(h, rank->nsteps);
    for (size_t i = 0; i < rank->nsteps; i++)
        h = put_number(h, (uint64_t)difference(rank->steps[i].end_ns, rank->steps[i].start_ns));
    return h;
}

uint64_t sweep_digest(const struct run *run)
{
    uint64_t h = put_number(HASH_BYTES, (uint64_t)run->world_size);
    for (size_t r = 0; r < run->nranks; r++)
        h = put_rank(h, run, &run->ranks[r]);
    return h;
}

/* ---- what is asked of it ---- */

/* "column=value\n" */
static void put_line(struct buf *b, const char *column, const char *value)
{
    buf_printf(b, "%s=%s\n", column, value);
}

static void put_profile(struct buf *b, const struct sweep_axis *axis, const char *text,
                        const struct profile_kind *kind, const struct replay_opts *opts)
{
    const void *profile;
    struct cJSON *figures;
    char *line;
    memcpy(&profile, (const char *)opts + axis->offset, sizeof profile);
    if (profile == NULL)
        return;
    if (text != NULL && !cmd_is_profile_file(text)) {
        put_line(b, axis->column, text);
        return;
    }
    figures = profile_json_object(kind, profile);
    line = cJSON_PrintUnformatted(figures);
    if (line == NULL)
        die("out of memory");
    put_line(b, axis->column, line);
    free(line);
    cJSON_Delete(figures);
}

static void put_option(struct buf *b, const struct sweep_axis *axis, const struct sweep_value *v,
                       const struct replay_opts *opts)
{
    switch (axis->kind) {
    case SWEEP_GPU:
        put_profile(b, axis, v->text, &gpu_kind, opts);
        break;
    case SWEEP_NETWORK: /* also one that a GPU's file brought */
        put_profile(b, axis, v->text, &network_kind, opts);
        break;
    case SWEEP_TEXT:
    case SWEEP_FLAG:
    case SWEEP_NUMBER:
    case SWEEP_COUNT:
        if (v->text != NULL && (axis->standard == NULL || strcmp(v->text, axis->standard) != 0))
            put_line(b, axis->column, v->text);
        break;
    case SWEEP_TRACE:
    case SWEEP_SCALE:
        break;
    }
}

uint64_t sweep_job_hash(const struct sweep_grid *g, size_t job, const char *run_id, uint64_t digest)
{
    struct buf b = BUF_INIT;
    struct replay_opts opts;
    struct arena arena;
    uint64_t h;
    arena_init(&arena);
    sweep_grid_opts(g, job, &arena, &opts);
    buf_puts(&b, "specter.sweep/1\n");
    if (run_id[0] != '\0')
        put_line(&b, "run", run_id);
    buf_printf(&b, "trace=%016" PRIx64 "\n", digest);
    for (size_t a = 0; a < SWEEP_SCALES; a++)
        put_option(&b, &sweep_axes[a], sweep_grid_value(g, job, a), &opts);
    h = hash_bytes(HASH_BYTES, b.data, b.len);
    buf_release(&b);
    arena_release(&arena);
    return h;
}

uint64_t sweep_point_id(uint64_t job_hash, int64_t scale)
{
    char line[32];
    int len = snprintf(line, sizeof line, "scale=%lld\n", (long long)scale);
    return hash_bytes(job_hash, line, (size_t)len);
}
