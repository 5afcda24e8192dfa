/* SPDX-License-Identifier: MIT */
#include "trace/share.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/pool.h"
#include "trace/load.h"

#include <stdlib.h>
#include <string.h>

/* A record begins with this; then path, parts each with its length, failures. */
struct record_head {
    uint64_t len;  /* of what follows */
    uint64_t sum;  /* of what follows */
    uint64_t form; /* record_form() */
    uint64_t size; /* of the file, as it was read */
    int64_t mtime_ns;
    uint32_t path_len, nsources, nparts, nfailures;
};

struct failure_record {
    struct err err;
    uint32_t source; /* index in the job's */
    uint32_t cut;
};

struct shared_record {
    struct record_head head;
    const char *path; /* not terminated; borrowed, as is body */
    const char *body;
    const char *label;
    bool taken; /* by load_shared_take(); no lock: no two threads take the same record */
};

/* Equal where one program can read the records of the other. */
static uint64_t record_form(void)
{
    return hash_mix(hash_mix(pack_form(), sizeof(struct record_head)),
                    sizeof(struct failure_record));
}

static int64_t path_key(const char *path, size_t len)
{
    return (int64_t)hash_bytes(HASH_BYTES, path, len);
}

/* ---- giving ---- */

static uint32_t source_number(const struct read_job *job, const struct source *source)
{
    uint32_t i = 0;
    while (i + 1 < job->nsources && job->sources[i] != source)
        i++;
    return i;
}

bool load_share_wanted(const struct load_share *share, const struct read_job *jobs, size_t n)
{
    uint64_t sum = HASH_BYTES;
    for (size_t i = 0; i < n; i++) {
        sum = hash_bytes(sum, jobs[i].path, strlen(jobs[i].path) + 1);
        sum = hash_mix(hash_mix(sum, jobs[i].sources[0]->size),
                       (uint64_t)jobs[i].sources[0]->mtime_ns);
    }
    return share->wanted == NULL || share->wanted(share->arg, sum);
}

void load_share_pack(struct buf *out, const struct read_job *job)
{
    struct record_head head = {.form = record_form(),
                               .size = job->sources[0]->size,
                               .mtime_ns = job->sources[0]->mtime_ns,
                               .path_len = (uint32_t)strlen(job->path),
                               .nsources = (uint32_t)job->nsources,
                               .nparts = (uint32_t)job->nparts,
                               .nfailures = (uint32_t)job->nfailures};
    const size_t begin = out->len, body = begin + sizeof head;
    buf_put(out, &head, sizeof head);
    buf_put(out, job->path, head.path_len);
    for (size_t p = 0; p < job->nparts; p++) {
        uint64_t len = 0;
        const size_t at = out->len;
        buf_put(out, &len, sizeof len);
        run_pack(out, &job->parts[p]);
        len = out->len - at - sizeof len;
        memcpy(out->data + at, &len, sizeof len);
    }
    for (size_t f = 0; f < job->nfailures; f++) {
        struct failure_record failure = {.err = job->failures[f].err,
                                         .source = source_number(job, job->failures[f].source),
                                         .cut = job->failures[f].cut};
        buf_put(out, &failure, sizeof failure);
    }
    head.len = out->len - body;
    head.sum = hash_words(out->data + body, head.len);
    memcpy(out->data + begin, &head, sizeof head);
}

/* ---- taking ---- */

static int add_record(struct load_shared *s, const struct shared_record *r, struct err *e)
{
    const uint32_t before = s->paths.count;
    const uint32_t number = idmap_add(&s->paths, path_key(r->path, r->head.path_len));
    if (s->paths.count == before)
        return err_set(e, ERR_INPUT, "%s: file '%.*s' is in '%s', too", r->label,
                       (int)r->head.path_len, r->path, s->list[number].label);
    ARRAY_GROW(s->list, s->cap, (size_t)number + 1);
    s->list[number] = *r;
    return 0;
}

/* Records of one load_shared_add(), in order. */
struct records {
    struct shared_record *list; /* owned */
    bool *whole;                /* [n] the sum of the record is right; owned */
    size_t n, cap;
};

static int find_records(struct records *found, const char *bytes, size_t len, const char *label,
                        struct err *e)
{
    const char *end = bytes + len;
    while (bytes < end) {
        struct shared_record r = {.label = label};
        if ((size_t)(end - bytes) < sizeof r.head)
            return err_set(e, ERR_INPUT, "%s: the end is missing", label);
        memcpy(&r.head, bytes, sizeof r.head);
        bytes += sizeof r.head;
        if (r.head.form != record_form())
            return err_set(e, ERR_INPUT, "%s: written by another version of specter", label);
        if (r.head.len > (size_t)(end - bytes) || r.head.path_len > r.head.len)
            return err_set(e, ERR_INPUT, "%s: the end is missing", label);
        r.path = bytes;
        r.body = bytes + r.head.path_len;
        bytes += r.head.len;
        ARRAY_GROW(found->list, found->cap, found->n + 1);
        found->list[found->n++] = r;
    }
    return 0;
}

static void check_sum(void *arg, size_t i)
{
    const struct records *found = arg;
    const struct shared_record *r = &found->list[i];
    found->whole[i] = hash_words(r->path, r->head.len) == r->head.sum;
}

int load_shared_add(struct load_shared *s, const char *bytes, size_t len, const char *label,
                    struct err *e)
{
    struct records found = {0};
    struct err scan_err = {0};
    int rc = 0, scan_rc = find_records(&found, bytes, len, label, &scan_err);
    found.whole = array_new(found.n, sizeof *found.whole);
    pool_run(pool_cpus(), found.n, check_sum, &found, NULL);
    for (size_t i = 0; i < found.n && rc == 0; i++)
        rc = found.whole[i] ? add_record(s, &found.list[i], e)
                            : err_set(e, ERR_INPUT, "%s: damaged", label);
    if (rc == 0 && scan_rc < 0) { /* damage is reported before a missing end */
        *e = scan_err;
        rc = -1;
    }
    free(found.list);
    free(found.whole);
    return rc;
}

void load_shared_release(struct load_shared *s)
{
    idmap_release(&s->paths);
    free(s->list);
    memset(s, 0, sizeof *s);
}

static int take_parts(const struct shared_record *r, const char **at, const char *end,
                      struct run *parts, size_t nparts, struct err *e)
{
    for (size_t p = 0; p < nparts; p++) {
        uint64_t len;
        if ((size_t)(end - *at) < sizeof len)
            return err_set(e, ERR_INPUT, "%s: damaged", r->label);
        memcpy(&len, *at, sizeof len);
        *at += sizeof len;
        if (len > (size_t)(end - *at) || run_unpack(&parts[p], *at, len, e) < 0)
            return err_set(e, ERR_INPUT, "%s: damaged", r->label);
        *at += len;
    }
    return 0;
}

static int take_failures(const struct shared_record *r, const char *at, const char *end,
                         struct read_job *job, struct err *e)
{
    if ((size_t)(end - at) != r->head.nfailures * sizeof(struct failure_record))
        return err_set(e, ERR_INPUT, "%s: damaged", r->label);
    for (uint32_t f = 0; f < r->head.nfailures; f++) {
        struct failure_record failure;
        memcpy(&failure, at + f * sizeof failure, sizeof failure);
        if (failure.source >= job->nsources)
            return err_set(e, ERR_INPUT, "%s: damaged", r->label);
        failure.err.msg[sizeof failure.err.msg - 1] = '\0';
        ARRAY_GROW(job->failures, job->cap_failures, job->nfailures + 1);
        job->failures[job->nfailures++] =
            (struct load_failure){failure.err, job->sources[failure.source], failure.cut != 0};
    }
    return 0;
}

int load_shared_take(struct load_shared *s, struct read_job *job, struct run *parts, size_t nparts,
                     struct err *e)
{
    const struct source *source = job->sources[0];
    const size_t len = strlen(job->path);
    const uint32_t number = idmap_find(&s->paths, path_key(job->path, len));
    struct shared_record *r;
    const char *at, *end;
    if (number == IDMAP_NONE || s->list[number].head.path_len != len ||
        memcmp(s->list[number].path, job->path, len) != 0)
        return err_set(e, ERR_INPUT, "%s: is in no shard: read them again", source->label);
    r = &s->list[number];
    if (r->head.size != source->size || r->head.mtime_ns != source->mtime_ns ||
        r->head.nsources != job->nsources || r->head.nparts != nparts)
        return err_set(e, ERR_INPUT, "%s: was changed since '%s' was written: read it again",
                       source->label, r->label);
    r->taken = true;
    at = r->body;
    end = r->path + r->head.len;
    return take_parts(r, &at, end, parts, nparts, e) < 0 ? -1 : take_failures(r, at, end, job, e);
}

int load_shared_all_taken(const struct load_shared *s, struct err *e)
{
    for (uint32_t i = 0; i < s->paths.count; i++) {
        const struct shared_record *r = &s->list[i];
        if (!r->taken)
            return err_set(e, ERR_INPUT,
                           "%.*s: is in '%s', and not among the traces any more: read them again",
                           (int)r->head.path_len, r->path, r->label);
    }
    return 0;
}
