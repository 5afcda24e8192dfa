/* SPDX-License-Identifier: MIT
 *
 * Reads the text that `ncclras` prints, with -v or without. The form is that of rasClientRunInit()
 * and rasClientRunComms() in NVIDIA/nccl, src/ras/client_support.cc, 2.24 to 2.31; lines that are
 * not known are passed over.
 */
#include "trace/ras.h"

#include "trace/kernel_names.h"
#include "trace/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX 2048
#define COMMS_MAX 8192 /* that something is wrong with */
#define SETS_MAX (1 << 16)
#define NO_COMM UINT32_MAX
#define TITLE "NCCL version " /* of a snapshot */

/* The place of a line in the text. */
struct place {
    enum { IN_NOTHING, IN_SUMMARY, IN_TABLE, IN_LOST, IN_DEAD, IN_COMM } part;
    uint32_t comm; /* of the section; NO_COMM */
    uint8_t kind;  /* of the sets of ranks that follow */
    int function;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns where the title of a table of communicators stands, "Group     Comms     Nodes     Ranks"
 * with columns whose width differs from version to version. NULL: nowhere. */
static const char *find_table(const char *text, size_t len)
{
    static const char *const words[] = {"Group", "Comms", "Nodes", "Ranks"};
    const char *const end = text + len;
    while ((text = memmem(text, (size_t)(end - text), words[0], strlen(words[0]))) != NULL) {
        const char *p = text;
        size_t found = 0;
        while (found < sizeof words / sizeof *words && (size_t)(end - p) >= strlen(words[found]) &&
               memcmp(p, words[found], strlen(words[found])) == 0) {
            p += strlen(words[found++]);
            while (p < end && (*p == ' ' || *p == '\t'))
                p++;
        }
        if (found == sizeof words / sizeof *words)
            return text;
        text += strlen(words[0]);
    }
    return NULL;
}

bool ras_is_text(const char *head, size_t len)
{
    return head_has(head, len, "Job summary\n") || head_has(head, len, "Job summary\r\n") ||
           head_has(head, len, "No communicator data collected!") || find_table(head, len) != NULL;
}

/* ---- ranks and sets ---- */

/* "GPU 5 (NVML 1) managed by process 1005 on node 10.0.0.2", from "GPU" on. */
static void read_process(struct ras_text *t, struct ras_listed *m, const char *text)
{
    long long device, pid;
    const char *process = strstr(text, "managed by process ");
    char host[256];
    if (sscanf(text, "GPU %9lld", &device) == 1)
        m->device = device;
    if (process != NULL &&
        sscanf(process, "managed by process %18lld on node %255[^\n]", &pid, host) == 2) {
        m->pid = pid;
        m->host = intern_add(&t->f->run->names, host, strlen(host));
    }
}

static struct ras_set *add_set(struct ras_text *t, const struct place *at, int64_t count)
{
    if (t->nsets > SETS_MAX) /* a text that was made up: the last one takes all */
        t->nsets--;
    ARRAY_GROW(t->sets, t->cap_sets, t->nsets + 1);
    t->open = false;
    t->sets[t->nsets] = (struct ras_set){.comm = at->comm,
                                         .kind = at->kind,
                                         .function = (uint8_t)at->function,
                                         .count = count,
                                         .first = t->nlisted,
                                         .line = t->line};
    return &t->sets[t->nsets++];
}

/* A rank of the set that was added last. */
static void add_listed(struct ras_text *t, int64_t number, const char *rest)
{
    const char *process = strstr(rest, "-- ");
    struct ras_listed m = {.comm_rank = -1, .pid = -1, .device = -1, .host = ""};
    if (t->nsets == 0 || t->nsets > SETS_MAX || number < 0 || number >= RUN_RANKS_MAX)
        return;
    m.comm_rank = (int32_t)number;
    if (process != NULL)
        read_process(t, &m, process + 3);
    ARRAY_GROW(t->listed, t->cap_listed, t->nlisted + 1);
    t->listed[t->nlisted++] = m;
    t->sets[t->nsets - 1].nlisted++;
}

static int error_named(const char *name)
{
    for (int error = 1; error < 7; error++) {
        if (begins(name, ras_error_name(error)))
            return error;
    }
    return 99; /* "Unexpected error" */
}

static uint8_t status_kind(const char *status)
{
    if (begins(status, "NOCOMM"))
        return SET_ELSEWHERE;
    return begins(status, "ABORT") ? SET_ABORTED : SET_NOTHING;
}

/* Reads the property of a set: "reported System error", "has status RUNNING", "has launched up to
 * operation 41", "has not launched any operations". False: it is not such a text. */
static bool read_property(struct ras_text *t, struct place *at, int64_t count, const char *text)
{
    struct place as = *at;
    long long calls = 0;
    int error = 0;
    text += begins(text, "has ") ? 4 : begins(text, "have ") ? 5 : 0;
    if (begins(text, "reported "))
        error = error_named(text + 9);
    else if (begins(text, "status "))
        as.kind = status_kind(text + 7);
    else if (sscanf(text, "launched up to operation %18lld", &calls) == 1 ||
             begins(text, "not launched any operations"))
        as.kind = SET_CALLS;
    else
        return false;
    if (calls < 0 || calls > RAS_CALLS_MAX / RAS_FUNCTIONS) {
        t->f->refused++;
        return false;
    }
    add_set(t, &as, count)->value = error != 0 ? error : calls;
    return true;
}

/* ---- sections ---- */

/* "#0-1 (27a079b828ff1a75) MISMATCH" */
static bool read_heading(struct ras_text *t, struct place *at, const char *text)
{
    long long group, index;
    unsigned long long hash;
    struct ras_file *f = t->f;
    const char *name, *id;
    char number[64];
    if (sscanf(text, "#%9lld-%9lld (%16llx)", &group, &index, &hash) != 3)
        return false;
    snprintf(number, sizeof number, "0x%llx", hash);
    t->open = t->warnings;
    if (t->open && group >= 0 && (size_t)group < t->ngroups)
        t->groups[group].sections++;
    name = intern_add(&f->run->names, number, strlen(number));
    snprintf(number, sizeof number, "0x%llx#%lld-%lld", hash, group, index);
    id = intern_add(&f->run->names, number, strlen(number));
    *at = (struct place){.part = IN_COMM, .comm = NO_COMM};
    for (size_t i = 0; i < f->ncomms && at->comm == NO_COMM; i++)
        at->comm = f->comms[i].id == id ? (uint32_t)i : NO_COMM;
    if (at->comm != NO_COMM)
        return true;
    if (f->ncomms == COMMS_MAX) {
        run_note(f->run, true, "%s: more than %d communicators with a trouble: others are not read",
                 f->label, COMMS_MAX);
        at->part = IN_NOTHING;
        return true;
    }
    struct ras_comm *c = ras_add_comm(f);
    c->id = id;
    c->name = name;
    at->comm = (uint32_t)f->ncomms - 1;
    if (group >= 0 && (size_t)group < t->ngroups)
        c->size = t->groups[group].size;
    return true;
}

/* "The missing ranks: 3 4", as NVIDIA's manual shows them. */
static void read_missing(struct ras_text *t, const char *text)
{
    const char *p = strchr(text, ':');
    while (p != NULL && *(p += strcspn(p, "0123456789")) != '\0') {
        char *end;
        add_listed(t, strtoll(p, &end, 10), "");
        p = end;
    }
}

/* Lines of a communicator's section. */
static void read_section(struct ras_text *t, struct place *at, const char *text)
{
    char name[32];
    long long n;
    int used = 0;
    if (sscanf(text, "Missing communicator data from %9lld", &n) == 1 && n >= 0) {
        at->kind = SET_SILENT;
        add_set(t, at, n);
    } else if (begins(text, "The missing rank") && at->kind == SET_SILENT) {
        read_missing(t, text);
    } else if (begins(text, "Initialization error")) {
        at->kind = SET_INIT_ERROR;
    } else if (begins(text, "Asynchronous error")) {
        at->kind = SET_ASYNC_ERROR;
    } else if (sscanf(text, "Communicator ranks have different %31s operation counts", name) == 1 &&
               strstr(text, " operation counts") != NULL) {
        int function = comm_op_named(name, strlen(name));
        at->kind = SET_CALLS;
        at->function = function < SPECTER_COMM_OP_COUNT ? function : SPECTER_COMM_OP_COUNT;
    } else if (sscanf(text, "Rank %9lld -- %n", &n, &used) == 1 && used > 0) {
        add_listed(t, n, text);
    } else if (sscanf(text, "Rank %9lld %n", &n, &used) == 1 && used > 0) {
        if (read_property(t, at, 1, text + used))
            add_listed(t, n, text);
    } else if (sscanf(text, "%9lld ranks %n", &n, &used) == 1 && used > 0 && n >= 0) {
        read_property(t, at, n, text + used);
    }
}

/* "    0         1         4         8        32        32   RUNNING  MISMATCH" */
static bool read_group(struct ras_text *t, const char *text)
{
    long long number, comms, nodes, size, ranks;
    char each[32];
    if (sscanf(text, "%9lld %9lld %9lld %31s %9lld %9lld", &number, &comms, &nodes, each, &size,
               &ranks) != 6 ||
        number != (long long)t->ngroups)
        return false;
    ARRAY_GROW(t->groups, t->cap_groups, t->ngroups + 1);
    t->groups[t->ngroups++] =
        (struct ras_group){comms, size, ranks, strstr(text, "MISMATCH") != NULL, 0};
    t->f->all_comms += comms;
    return true;
}

/* The last number of the last table before the communicators is that of the job's GPUs. */
static void read_summary(struct ras_text *t, const char *text)
{
    long long n[5];
    int found = sscanf(text, "%9lld %9lld %9lld %9lld %9lld", &n[0], &n[1], &n[2], &n[3], &n[4]);
    if (found == 5 || found == 3)
        t->gpus = n[found - 1];
}

/* "Process 3487984 on node 172.16.64.213 managing GPU 5", of those that do not answer or are dead.
 */
static void read_lost(struct ras_text *t, const struct place *at, const char *text)
{
    long long pid, device = -1;
    char host[256];
    struct ras_listed process = {.comm_rank = -1};
    if (sscanf(text, "Process %18lld on node %255s managing GPU %9lld", &pid, host, &device) < 2)
        return;
    process.pid = pid;
    process.device = device;
    process.host = intern_add(&t->f->run->names, host, strlen(host));
    t->lost = process;
    t->nlost++;
    if (at->part != IN_DEAD)
        return;
    ARRAY_GROW(t->dead, t->cap_dead, t->ndead + 1);
    t->dead[t->ndead++] = process;
}

static void read_line(struct ras_text *t, struct place *at, const char *text)
{
    if (begins(text, "Job summary"))
        at->part = IN_SUMMARY;
    else if (begins(text, "Communicators..."))
        at->part = IN_NOTHING;
    else if (find_table(text, strlen(text)) == text)
        at->part = IN_TABLE;
    else if (begins(text, "Warnings"))
        t->warnings = true, *at = (struct place){.comm = NO_COMM};
    else if (begins(text, "Errors") || begins(text, "TIMEOUT"))
        *at = (struct place){.comm = NO_COMM};
    else if (begins(text, "INCOMPLETE"))
        at->part = IN_LOST;
    else if (begins(text, "DEAD"))
        at->part = IN_DEAD;
    else if (text[0] == '#' && read_heading(t, at, text))
        return;
    else if (at->part == IN_SUMMARY)
        read_summary(t, text);
    else if (at->part == IN_TABLE)
        read_group(t, text);
    else if (at->part == IN_DEAD || at->part == IN_LOST)
        read_lost(t, at, text);
    else if (at->part == IN_COMM)
        read_section(t, at, text);
}

/* ---- snapshots ---- */

/* Copies the next line without what stands before each of them, and without its end. False at the
 * end of the text. */
static bool next_line(struct ras_text *t, const char **text, const char *end, char line[LINE_MAX])
{
    const char *stop = *text < end ? memchr(*text, '\n', (size_t)(end - *text)) : NULL;
    const char *p = *text, *last = stop != NULL ? stop : end;
    size_t n;
    if (*text >= end)
        return false;
    *text = stop != NULL ? stop + 1 : end;
    p += (size_t)(last - p) < t->indent ? (size_t)(last - p) : t->indent;
    while (p < last && isspace((unsigned char)*p))
        p++;
    while (last > p && isspace((unsigned char)last[-1]))
        last--;
    n = (size_t)(last - p) < LINE_MAX ? (size_t)(last - p) : LINE_MAX - 1;
    memcpy(line, p, n);
    line[n] = '\0';
    t->line++;
    return true;
}

/* The next first line of a snapshot, which says what NCCL was compiled with; NCCL's log has its
 * version, too. NULL none. */
static const char *find_title(const char *text, const char *end)
{
    for (; text < end; text += sizeof TITLE - 1) {
        const char *stop;
        text = memmem(text, (size_t)(end - text), TITLE, sizeof TITLE - 1);
        if (text == NULL)
            return NULL;
        stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop != NULL ? stop : end;
        if (memmem(text, (size_t)(stop - text), "compiled with", 13) != NULL)
            return text;
    }
    return NULL;
}

/* Returns where the first snapshot begins: at its first line, else at the title of its first table,
 * else of the part without one; NULL none. */
static const char *find_snapshot(const struct ras_file *f)
{
    static const char summary[] = "Job summary", parts[] = "Communicators... (";
    const char *found = find_title(f->text, f->text + f->len);
    if (found == NULL)
        found = memmem(f->text, f->len, summary, sizeof summary - 1);
    if (found == NULL)
        found = find_table(f->text, f->len);
    if (found == NULL)
        found = memmem(f->text, f->len, parts, sizeof parts - 1);
    return found;
}

/* One snapshot of the file. */
struct span {
    const char *title, *end;
    uint64_t line; /* those before it */
};

static void read_snapshot(struct ras_text *t, const struct span *span)
{
    char line[LINE_MAX];
    struct place at = {.comm = NO_COMM};
    const char *text = span->title;
    ras_clear(t->f);
    t->ngroups = t->nsets = t->nlisted = t->ndead = t->nlost = 0;
    t->gpus = 0;
    t->warnings = t->open = false;
    t->line = span->line;
    t->end = span->end;
    while (text > t->f->text && text[-1] != '\n')
        text--;
    t->indent = (size_t)(span->title - text);
    while (next_line(t, &text, span->end, line))
        read_line(t, &at, line);
}

static void note_damage(struct ras_text *t, bool newer_cut)
{
    struct ras_file *f = t->f;
    if (newer_cut)
        run_note(f->run, true, "%s: the last snapshot in it is cut: the one before it is read",
                 f->label);
    else if (!ras_is_whole(t))
        run_note(f->run, true,
                 "%s: line %llu: the text ends early, before all warnings that it announces",
                 f->label, (unsigned long long)t->line);
}

/* Finds the last two whole snapshots; without one, the last is the first in the file, which is cut.
 * Returns whether the last in the file is cut and not the one found. */
static bool find_whole(struct ras_text *t, struct span last[2])
{
    const char *end = t->f->text + t->f->len;
    struct span next = {find_snapshot(t->f), end, 0};
    bool cut = false;
    for (const char *p = t->f->text; next.title != NULL && p < next.title; p++)
        next.line += *p == '\n';
    last[1] = next;
    while (next.title != NULL) {
        const char *title = find_title(next.title + sizeof TITLE, end);
        next.end = title != NULL ? title : end;
        while (next.end < end && next.end > next.title && next.end[-1] != '\n')
            next.end--;
        read_snapshot(t, &next);
        cut = !ras_is_whole(t) && t->f->snapshots > 0;
        if (ras_is_whole(t)) {
            last[0] = t->f->snapshots++ > 0 ? last[1] : last[0];
            last[1] = next;
        } else if (t->f->snapshots == 0) {
            last[1] = next;
        }
        next = (struct span){title, end, t->line};
    }
    return cut;
}

int ras_read_text(struct ras_file *f, struct err *e)
{
    struct ras_text t = {.f = f};
    struct span last[2] = {{0}, {0}};
    bool cut = find_whole(&t, last);
    size_t snapshots = f->snapshots;
    int rc = -1;
    f->snapshots = 0;
    for (int i = 0; i < 2; i++) {
        if (last[i].title == NULL)
            continue;
        read_snapshot(&t, &last[i]);
        rc = ras_conclude(&t);
        if (rc == 0)
            ras_count_snapshot(f);
    }
    if (rc < 0 && t.ngroups == 0 && t.ndead > 0) {
        err_set(
            e, ERR_INPUT,
            "%s: line %llu: no communicator in it; RAS considers %zu process%s dead: %lld on %s%s",
            f->label, (unsigned long long)t.line, t.ndead, t.ndead == 1 ? "" : "es",
            (long long)t.dead[0].pid, t.dead[0].host, t.ndead > 1 ? ", ..." : "");
    } else if (rc < 0) {
        err_set(e, ERR_INPUT, "%s: line %llu: %s", f->label, (unsigned long long)t.line,
                t.ngroups > 0 ? "more ranks than can be believed" : "no communicator in it");
    } else {
        f->snapshots = snapshots;
        note_damage(&t, cut);
        ras_note_sets(&t);
    }
    free(t.groups);
    free(t.sets);
    free(t.listed);
    free(t.dead);
    free(t.joins);
    return rc;
}
