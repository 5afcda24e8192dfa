/* SPDX-License-Identifier: MIT
 *
 * Reads what `ncclras` prints: NCCL's own view of a job that runs, all ranks in one file. Here the
 * JSON of `ncclras -f json`, whose form is that of rasDumpCommsToJSON() in NVIDIA/nccl,
 * src/ras/client_support.cc; the text form is ras_text.c's.
 */
#include "trace/ras.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "trace/kernel_names.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RAS_MAX ((size_t)256 << 20) /* 100,000 ranks take 60 MB */
#define BLOCK_SIZE ((size_t)1 << 20)
#define NCCL_IN_PROGRESS 7

/* ---- the parts of a snapshot ---- */

struct ras_comm *ras_add_comm(struct ras_file *f)
{
    ARRAY_GROW(f->comms, f->cap_comms, f->ncomms + 1);
    f->comms[f->ncomms] =
        (struct ras_comm){.id = "", .name = "", .comm = -1, .least = INT64_MAX, .most = -1};
    return &f->comms[f->ncomms++];
}

struct ras_member ras_member(const struct ras_file *f)
{
    return (struct ras_member){
        .comm = (uint32_t)f->ncomms - 1, .comm_rank = -1, .pid = -1, .device = -1, .host = ""};
}

void ras_add_member(struct ras_file *f, const struct ras_member *m)
{
    if (m->comm_rank < 0 || m->comm_rank >= f->comms[m->comm].size)
        return;
    ARRAY_GROW(f->members, f->cap_members, f->nmembers + 1);
    f->members[f->nmembers++] = *m;
}

void ras_clear(struct ras_file *f)
{
    f->ncomms = f->nmembers = f->refused = 0;
    f->all_comms = 0;
}

void ras_count_snapshot(struct ras_file *f)
{
    uint64_t counts = f->nmembers;
    for (size_t i = 0; i < f->nmembers; i++) {
        const struct ras_member *m = &f->members[i];
        uint64_t hash = hash_mix((uint64_t)(uintptr_t)f->comms[m->comm].id, (uint64_t)m->comm_rank);
        counts += hash_mix(hash, (uint64_t)m->calls);
    }
    f->unchanged = f->snapshots++ > 0 && counts == f->counts;
    f->counts = counts;
}

/* ---- JSON ---- */

/* Returns the error that a ncclResult_t is; 0: success, or "in progress". */
static int ras_error(int64_t result)
{
    return result > 0 && result != NCCL_IN_PROGRESS && result < 100 ? (int)result : 0;
}

static void read_status(struct ras_member *m, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "async_error"))
            m->error = ras_error(json_i64(j, 0));
        else if (json_text_is(key, "init_state"))
            m->init_error = ras_error(json_i64(j, 0));
        else if (json_text_is(key, "abort_flag"))
            m->aborted = json_bool(j, false);
        else if (json_text_is(key, "unresponsive"))
            m->answer = json_bool(j, true) ? m->answer : RAS_ELSEWHERE;
        else if (json_text_is(key, "considered_dead"))
            m->answer = json_bool(j, false) ? RAS_DEAD : m->answer;
        else
            json_skip(j);
    }
}

/* Sends and receives are counted, too, and are no collectives. */
static void read_counts(struct ras_file *f, struct ras_member *m, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        int op = comm_op_named(key.p, key.len);
        int64_t n = json_i64(j, -1);
        if (op >= SPECTER_COMM_OP_COUNT || op == SPECTER_SEND || op == SPECTER_RECV ||
            json_text_is(key, "SendRecv"))
            continue;
        if (n < 0 || n > RAS_CALLS_MAX - m->calls) {
            f->refused++;
            continue;
        }
        m->of[op] += n;
        m->calls += n;
    }
}

static void read_member(struct ras_file *f, struct json *j, bool missing)
{
    struct ras_member m = ras_member(f);
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    m.answer = missing ? RAS_SILENT : RAS_HERE;
    while (json_next_key(j, &key)) {
        int64_t number = -1;
        if (json_text_is(key, "rank")) {
            number = json_i64(j, -1);
            m.comm_rank = number >= 0 && number < RUN_RANKS_MAX ? (int32_t)number : -1;
        } else if (json_text_is(key, "host"))
            m.host = run_intern(f->run, json_string(j));
        else if (json_text_is(key, "pid"))
            m.pid = json_i64(j, -1);
        else if (json_text_is(key, "cuda_dev"))
            m.device = json_i64(j, -1);
        else if (json_text_is(key, "status"))
            read_status(&m, j);
        else if (json_text_is(key, "collective_counts"))
            read_counts(f, &m, j);
        else
            json_skip(j);
    }
    if (j->error == NULL)
        ras_add_member(f, &m);
}

static void read_members(struct ras_file *f, struct json *j, bool missing)
{
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j))
        read_member(f, j, missing);
}

/* "hash" alone may be that of two communicators; NCCL writes "size" before the members. */
static void read_comm(struct ras_file *f, struct json *j)
{
    struct buf id = BUF_INIT;
    struct json_text key;
    struct ras_comm *c;
    if (!json_enter(j, '{'))
        return;
    c = ras_add_comm(f);
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "hash") || json_text_is(key, "secondary_hash")) {
            if (id.len > 0)
                buf_putc(&id, '/');
            json_decode(json_string(j), &id);
            if (json_text_is(key, "hash"))
                c->name = intern_add(&f->run->names, id.data, id.len);
        } else if (json_text_is(key, "size")) {
            c->size = json_i64(j, 0);
            c->size = c->size > 0 ? c->size : 0;
        } else if (json_text_is(key, "ranks"))
            read_members(f, j, false);
        else if (json_text_is(key, "missing_ranks"))
            read_members(f, j, true);
        else
            json_skip(j);
    }
    c->id = intern_add(&f->run->names, id.data, id.len);
    buf_release(&id);
}

/* "2026-05-17 10:20:30", in the local time of the machine that RAS ran on; taken as UTC. */
static int64_t moment_of(struct json_text text)
{
    char copy[32] = "";
    struct tm tm = {0};
    if (text.len < sizeof copy)
        memcpy(copy, text.p, text.len);
    return strptime(copy, "%Y-%m-%d %H:%M:%S", &tm) != NULL ? (int64_t)timegm(&tm) * 1000000000 : 0;
}

static void read_snapshot(struct ras_file *f, struct json *j)
{
    struct json_text key;
    ras_clear(f);
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "communicators") && json_enter(j, '[')) {
            while (json_next_item(j))
                read_comm(f, j);
        } else if (json_text_is(key, "timestamp"))
            f->at_ns = moment_of(json_string(j));
        else
            json_skip(j);
    }
    f->all_comms = (int64_t)f->ncomms;
}

/* Behind white space and, of a client without a name (`nc localhost 28028`), RAS' own answers. */
static const char *skip_answers(const char *at, const char *end)
{
    static const char *const answers[] = {"OK", "SERVER PROTOCOL"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers;) {
        while (at < end && strchr(" \t\r\n", *at) != NULL)
            at++;
        if ((size_t)(end - at) < strlen(answers[i]) ||
            memcmp(at, answers[i], strlen(answers[i])) != 0) {
            i++;
            continue;
        }
        while (at < end && *at != '\n')
            at++;
        i = 0;
    }
    return at;
}

/* The last whole one of the snapshots in the file; a cut one where there is no other. */
static int read_json(struct ras_file *f, struct err *e)
{
    const char *end = f->text + f->len, *at = skip_answers(f->text, end), *whole = NULL;
    struct json j;
    do {
        json_init(&j, at, (size_t)(end - at));
        read_snapshot(f, &j);
        if (j.error != NULL)
            break;
        ras_count_snapshot(f);
        whole = at;
        at = skip_answers(j.p, end);
    } while (at < end && *at == '{');
    if (j.error == NULL && at < end)
        j.error = "something follows the value";
    if (j.error != NULL && f->nmembers == 0 && whole == NULL)
        return err_set(e, ERR_INPUT, "%s: byte %zu: %s", f->label, (size_t)(j.p - f->text),
                       j.error);
    if (j.error != NULL)
        run_note(f->run, true, "%s: byte %zu: %s; what stands before it is used", f->label,
                 (size_t)(j.p - f->text), j.error);
    if (j.error != NULL && whole != NULL) {
        json_init(&j, whole, (size_t)(end - whole));
        read_snapshot(f, &j);
    }
    return f->nmembers > 0 ? 0
                           : err_set(e, ERR_INPUT, "%s: no rank of a communicator in it", f->label);
}

static int read_all(struct ras_file *f, struct stream *s, struct err *e)
{
    size_t cap = 0;
    ssize_t n;
    do {
        ARRAY_ROOM(f->text, cap, f->len + BLOCK_SIZE);
        n = stream_read(s, f->text + f->len, cap - f->len, e);
        f->len += n > 0 ? (size_t)n : 0;
        if (f->len > RAS_MAX)
            return err_set(e, ERR_INPUT, "%s: more than %zu MiB: no RAS output is as large",
                           f->label, RAS_MAX >> 20);
    } while (n > 0);
    if (n < 0 && f->len > 0)
        run_note(f->run, true, "%s; what stands before it is used", e->msg);
    return n < 0 && f->len == 0 ? -1 : 0;
}

static int ras_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct ras_file f = {.run = run, .label = label, .summary = BUF_INIT};
    int rc = read_all(&f, s, e);
    run->format = "ras";
    run->name_nodes = true;
    if (rc == 0)
        rc = ras_is_text(f.text, f.len) ? ras_read_text(&f, e) : read_json(&f, e);
    if (rc == 0 && f.refused > 0)
        run_note(run, true, "%s: counts of calls that cannot be believed are not used: %zu", label,
                 f.refused);
    if (rc == 0)
        ras_add_ranks(&f);
    free(f.text);
    free(f.comms);
    free(f.members);
    buf_release(&f.summary);
    return rc;
}

/* The text form, the keys that NCCL writes first, or those that count. */
static bool ras_sniff(const char *head, size_t len)
{
    const char *const end = head + len, *at = skip_answers(head, end);
    if (ras_is_text(head, len))
        return true;
    return at < end && *at == '{' &&
           ((head_has(head, len, "\"nccl_version\"") &&
             head_has(head, len, "\"communicators_count\"")) ||
            (head_has(head, len, "\"communicators\"") &&
             head_has(head, len, "\"collective_counts\"")));
}

const struct reader reader_ras = {.name = "ras",
                                  .sniff = ras_sniff,
                                  .read = ras_read,
                                  .apart = true,
                                  .grouped = true,
                                  .summed_up = true};
