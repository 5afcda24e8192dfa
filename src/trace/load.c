/* SPDX-License-Identifier: MIT
 *
 * From a path to a run: finds the traces in a folder, file or archive by their content, decides
 * which of several runs is meant, and has them read. Each file is opened twice, once for its head.
 */
#include "trace/reader.h"

#include "base/buf.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define NAMED_MAX 8 /* files or runs named in one note */

static const struct reader *const readers[] = {
#define X(name) &reader_##name,
    READERS(X)
#undef X
};

/* One file, or one member of an archive. */
struct source {
    const char *path;  /* to open; borrowed from the run's arena */
    const char *label; /* printable; likewise */
    const struct reader *reader;
    struct identity id;
    size_t member; /* of an archive: its place among the regular members */
    dev_t dev;
    ino_t ino;
    int launch; /* which run of those here */
};

struct load {
    struct run *run;
    const char *path;
    bool archive;
    struct source *list; /* owned */
    size_t count, cap;
    bool newer_left;    /* a newer launch was left aside: see meant_launch() */
    struct buf foreign; /* names, quoted */
    size_t nforeign, ndamaged;
    struct err first; /* the first thing that was wrong with a file */
};

/* ---- names ---- */

int rank_in_name(const char *label)
{
    static const char *const words[] = {"rank", "worker"};
    const char *base = strrchr(label, '/');
    int found = -1;
    size_t at = 0;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        for (const char *p = base != NULL ? base : label; (p = strstr(p, words[w])) != NULL; p++) {
            const char *digits = p + strlen(words[w]);
            digits += *digits == '_' || *digits == '-';
            if (isdigit((unsigned char)*digits) && (found < 0 || (size_t)(p - label) > at)) {
                found = (int)strtol(digits, NULL, 10);
                at = (size_t)(p - label);
            }
        }
    }
    return found < RUN_RANKS_MAX ? found : -1;
}

/* Would a person take a file of this name for a trace? */
static bool named_like_trace(const char *name)
{
    static const char *const parts[] = {".json", ".sqlite", ".nsys-rep", ".qdrep",
                                        ".tar",  ".tgz",    ".zst"};
    if (strncmp(name, "specter_", 8) == 0)
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(name, parts[i]) != NULL)
            return true;
    }
    return false;
}

static const char *printable(struct run *run, const char *text)
{
    struct buf b = BUF_INIT;
    const char *copy;
    buf_put_printable(&b, text, strlen(text));
    copy = arena_strndup(&run->arena, b.data, b.len);
    buf_release(&b);
    return copy;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- what is there ---- */

/* A trace that cannot be used, among those that can. */
static void damaged(struct load *l, const struct err *e)
{
    if (l->ndamaged++ == 0)
        l->first = *e;
    if (l->ndamaged <= NAMED_MAX)
        run_note(l->run, true, "%s; this file is left out", e->msg);
}

static void foreign(struct load *l, const char *label)
{
    if (l->nforeign++ < NAMED_MAX)
        buf_printf(&l->foreign, "%s'%s'", l->nforeign > 1 ? ", " : "", base_name(label));
}

/* A file of no known format: of another kind when it begins as JSON does, else damaged. */
static void not_a_trace(struct load *l, const char *label, const char *head, size_t len)
{
    struct err e;
    size_t i = 0;
    while (i < len && strchr(" \t\r\n", head[i]) != NULL && head[i] != '\0')
        i++;
    if ((i < len && (head[i] == '{' || head[i] == '[')) || strstr(label, ".json") == NULL) {
        foreign(l, label);
        return;
    }
    err_set(&e, ERR_INPUT, len == 0 ? "%s: empty" : "%s: line 1: not a trace", label);
    damaged(l, &e);
}

/* By content; else by name, where a format leaves nothing else. */
static const struct reader *recognise(const char *label, const char *head, size_t len)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (readers[i]->sniff(head, len))
            return readers[i];
    }
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (readers[i]->named != NULL && readers[i]->named(label, head, len))
            return readers[i];
    }
    return NULL;
}

/* Looks at the head of what the stream stands at; the new source, or NULL. */
static struct source *inspect(struct load *l, struct stream *s, const char *path)
{
    const char *label = arena_strdup(&l->run->arena, stream_label(s)), *head;
    struct err e;
    ssize_t n = stream_peek(s, &head, &e);
    const struct reader *reader = n > 0 ? recognise(label, head, (size_t)n) : NULL;
    struct source *source;
    if (reader == NULL) {
        if (n < 0 && named_like_trace(base_name(label)))
            damaged(l, &e);
        else if (n >= 0 && named_like_trace(base_name(label)))
            not_a_trace(l, label, head, (size_t)n);
        return NULL;
    }
    ARRAY_GROW(l->list, l->cap, l->count + 1);
    source = &l->list[l->count++];
    memset(source, 0, sizeof *source);
    source->path = path;
    source->label = label;
    source->reader = reader;
    source->id.rank = -1;
    if (reader->identify != NULL)
        reader->identify(head, (size_t)n, &source->id);
    return source;
}

static void cut_archive(struct load *l, const struct err *e)
{
    run_note(l->run, true, "%s; what stands before it is used", e->msg);
    if (l->first.code == ERR_NONE)
        l->first = *e;
}

static void inspect_archive(struct load *l, struct stream *s)
{
    struct err e;
    const char *name;
    size_t member = 0;
    int rc;
    l->archive = true;
    for (; (rc = stream_tar_next(s, &name, &e)) > 0; member++) {
        struct source *source = base_name(name)[0] != '.' ? inspect(l, s, l->path) : NULL;
        if (source != NULL)
            source->member = member;
    }
    if (rc < 0)
        cut_archive(l, &e);
}

static int inspect_file(struct load *l, struct err *e)
{
    struct stream *s;
    if (stream_open(&s, l->path, e) < 0)
        return -1;
    if (stream_is_tar(s))
        inspect_archive(l, s);
    else if (inspect(l, s, l->path) == NULL && l->ndamaged == 0)
        err_set(&l->first, ERR_INPUT, "%s: not a trace of a known format", stream_label(s));
    stream_close(s);
    return 0;
}

/* One file under two names (a symbolic or hard link) counts once. */
static bool seen(const struct load *l, const struct stat *st)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].dev == st->st_dev && l->list[i].ino == st->st_ino)
            return true;
    }
    return false;
}

static void inspect_entry(struct load *l, const char *name)
{
    char *path = arena_printf(&l->run->arena, "%s/%s", l->path, name);
    struct source *source;
    struct stream *s;
    struct stat st;
    struct err e;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || seen(l, &st))
        return;
    if (stream_open(&s, path, &e) < 0) {
        if (named_like_trace(name))
            damaged(l, &e);
        return;
    }
    if (stream_is_tar(s)) {
        run_note(l->run, false, "%s: an archive in a folder is not looked into: name it to read it",
                 stream_label(s));
        if (l->first.code == ERR_NONE)
            err_set(&l->first, ERR_INPUT, "no traces in '%s': name the archive '%s' to read it",
                    printable(l->run, l->path), base_name(stream_label(s)));
    } else if ((source = inspect(l, s, path)) != NULL) {
        source->dev = st.st_dev;
        source->ino = st.st_ino;
    }
    stream_close(s);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int inspect_folder(struct load *l, struct err *e)
{
    struct dirent **names;
    int n = scandir(l->path, &names, not_hidden, alphasort);
    if (n < 0)
        return err_set(e, ERR_INPUT, "%s: %s", printable(l->run, l->path), strerror(errno));
    for (int i = 0; i < n; i++) {
        inspect_entry(l, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    if (n == 0)
        err_set(&l->first, ERR_INPUT, "no traces in '%s': it is empty", printable(l->run, l->path));
    return 0;
}

static int inspect_path(struct load *l, struct err *e)
{
    struct stat st;
    if (stat(l->path, &st) < 0)
        return err_set(e, ERR_INPUT, "%s: %s", printable(l->run, l->path), strerror(errno));
    if (S_ISDIR(st.st_mode))
        return inspect_folder(l, e);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_INPUT, "%s: neither a file nor a folder", printable(l->run, l->path));
    return inspect_file(l, e);
}

static int nothing_found(const struct load *l, struct err *e)
{
    const char *path = printable(l->run, l->path);
    if (l->first.code != ERR_NONE)
        return err_set(e, ERR_INPUT, "%s", l->first.msg);
    if (l->nforeign > 0)
        return err_set(e, ERR_INPUT, "no traces of a known format in '%s' (%s%s)", path,
                       l->foreign.data, l->nforeign > NAMED_MAX ? ", ..." : "");
    return err_set(e, ERR_INPUT, "no traces in '%s'", path);
}

/* ---- which of it ---- */

static void drop_sources(struct load *l, bool (*drop)(const struct source *, const void *),
                         const void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (!drop(&l->list[i], arg))
            l->list[kept++] = l->list[i];
    }
    l->count = kept;
}

static bool of_other_reader(const struct source *s, const void *reader)
{
    return s->reader != reader && s->reader->completes != reader;
}

static size_t count_reader(const struct load *l, const struct reader *reader)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        n += l->list[i].reader == reader;
    return n;
}

/* A folder can hold recordings by several tools; the first of READERS is taken, with what completes
 * it. */
static const struct reader *choose_reader(struct load *l)
{
    const struct reader *chosen = NULL;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        size_t n = count_reader(l, readers[i]);
        if (n > 0 && chosen != NULL && readers[i]->completes == chosen)
            continue;
        if (n > 0 && chosen != NULL)
            run_note(l->run, false, "%zu %s trace%s here left aside: the %s traces are read", n,
                     readers[i]->name, n > 1 ? "s" : "", chosen->name);
        else if (n > 0)
            chosen = readers[i];
    }
    drop_sources(l, of_other_reader, chosen);
    return chosen;
}

/* By run, then by begin: the launches of one run id come apart where a rank begins again. */
static int compare_sources(const void *pa, const void *pb)
{
    const struct source *a = pa, *b = pb;
    int order = strcmp(a->id.run, b->id.run);
    if (order == 0)
        order = (a->id.real_ns > b->id.real_ns) - (a->id.real_ns < b->id.real_ns);
    return order != 0 ? order : strcmp(a->label, b->label);
}

static bool rank_repeats(const struct load *l, size_t first, size_t at)
{
    if (l->list[at].id.real_ns == 0)
        return false; /* no date to tell launches apart by */
    for (size_t i = first; i < at; i++) {
        if (l->list[at].id.rank >= 0 && l->list[i].id.rank == l->list[at].id.rank)
            return true;
    }
    return false;
}

/* The launch of one run id that is meant when the newest one is `newest`. Where that one has no
 * communicator and one before it has, it is no launch: a child process, say, that found its
 * parent's rank in its environment and made a call. */
static int meant_launch(struct load *l, int newest)
{
    const char *run = NULL;
    int meant = newest;
    for (size_t i = 0; i < l->count; i++)
        run = l->list[i].launch == newest ? l->list[i].id.run : run;
    for (size_t i = 0; i < l->count; i++) {
        const struct source *s = &l->list[i];
        if (s->id.member && s->launch <= newest && strcmp(s->id.run, run) == 0)
            meant = s->launch;
    }
    l->newer_left = meant != newest;
    return meant;
}

/* Numbers the launches; the number of the newest that fits `run_id` (NULL: any), or -1. */
static int number_launches(struct load *l, const char *run_id)
{
    int launch = -1, newest = -1;
    size_t first = 0;
    int64_t newest_ns = 0;
    qsort(l->list, l->count, sizeof *l->list, compare_sources);
    for (size_t i = 0; i < l->count; i++) {
        struct source *s = &l->list[i];
        bool fits = run_id == NULL || strcmp(s->id.run, run_id) == 0;
        if (i == 0 || strcmp(s->id.run, l->list[i - 1].id.run) != 0 || rank_repeats(l, first, i)) {
            launch++;
            first = i;
            if (fits && (newest < 0 || s->id.real_ns >= newest_ns)) {
                newest = launch;
                newest_ns = s->id.real_ns;
            }
        }
        s->launch = launch;
    }
    return newest < 0 ? -1 : meant_launch(l, newest);
}

/* "'a' (8 files), 'b' (8 files)": the launches other than `but`. How many they are. */
static size_t list_launches(const struct load *l, int but, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0, end; i < l->count; i = end) {
        for (end = i; end < l->count && l->list[end].launch == l->list[i].launch;)
            end++;
        if (l->list[i].launch == but)
            continue;
        if (n < NAMED_MAX)
            buf_printf(out, "%s'%s' (%zu file%s)", n > 0 ? ", " : "", l->list[i].id.run, end - i,
                       end - i > 1 ? "s" : "");
        else if (n == NAMED_MAX)
            buf_puts(out, ", ...");
        n++;
    }
    return n;
}

static bool of_other_launch(const struct source *s, const void *launch)
{
    return s->launch != *(const int *)launch;
}

/* A file without an init record (its first line is damaged) belongs to the run when there is but
 * one; with more it is lost. */
static void adopt_unidentified(struct load *l, int chosen)
{
    int launches = 0, last = -1;
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].id.known && l->list[i].launch != last) {
            last = l->list[i].launch;
            launches++;
        }
    }
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].id.known || launches == 0)
            continue;
        l->list[i].launch = chosen;
        if (launches > 1) {
            run_note(l->run, true, "%s: no init record: it may be of any run here; left out",
                     l->list[i].label);
            l->list[i].launch = -1;
        }
    }
}

static bool lost(const struct source *s, const void *unused)
{
    (void)unused;
    return s->launch < 0;
}

static int choose_run(struct load *l, const struct reader *reader, const struct load_opts *opts,
                      struct err *e)
{
    const char *run_id = opts != NULL ? opts->run_id : NULL;
    struct buf others = BUF_INIT;
    int chosen = number_launches(l, run_id);
    size_t n;
    if (reader->identify != NULL) {
        adopt_unidentified(l, chosen);
        drop_sources(l, lost, NULL);
    }
    n = list_launches(l, chosen, &others);
    if (chosen < 0)
        err_set(e, ERR_INPUT, "no run '%s' in '%s': there %s %s", run_id,
                printable(l->run, l->path), n == 1 ? "is" : "are", others.data);
    else if (n > 0)
        run_note(l->run, false, "%zu other run%s here: %s; %s is read (--run chooses)", n,
                 n > 1 ? "s" : "", others.data,
                 run_id != NULL  ? "the one asked for"
                 : l->newer_left ? "the newest with communicators"
                                 : "the newest");
    buf_release(&others);
    drop_sources(l, of_other_launch, &chosen);
    return chosen < 0 ? -1 : 0;
}

/* ---- reading ---- */

static void read_source(struct load *l, const struct source *source, struct stream *s)
{
    struct err e = {0};
    if (source->reader->read(l->run, s, source->label, &e) < 0)
        damaged(l, &e);
}

static const struct source *member_source(const struct load *l, const struct reader *of,
                                          size_t member)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].member == member && l->list[i].reader == of)
            return &l->list[i];
    }
    return NULL;
}

static int read_archive(struct load *l, const struct reader *of, struct err *e)
{
    struct err cut;
    struct stream *s;
    const char *name;
    int rc;
    if (stream_open(&s, l->path, e) < 0)
        return -1;
    for (size_t member = 0; (rc = stream_tar_next(s, &name, &cut)) > 0; member++) {
        const struct source *source = member_source(l, of, member);
        if (source != NULL)
            read_source(l, source, s);
    }
    if (rc < 0)
        cut_archive(l, &cut);
    stream_close(s);
    return 0;
}

static int read_files(struct load *l, const struct reader *of)
{
    for (size_t i = 0; i < l->count; i++) {
        struct stream *s;
        struct err e;
        if (l->list[i].reader != of)
            continue;
        if (stream_open(&s, l->list[i].path, &e) < 0) {
            damaged(l, &e);
            continue;
        }
        read_source(l, &l->list[i], s);
        stream_close(s);
    }
    return 0;
}

static int read_format(struct load *l, const struct reader *reader, struct err *e)
{
    if ((l->archive ? read_archive(l, reader, e) : read_files(l, reader)) < 0)
        return -1;
    if (l->run->nranks == 0)
        return nothing_found(l, e);
    if (reader->finish != NULL)
        reader->finish(l->run);
    return 0;
}

/* What completes the format that was read, behind it. */
static int read_completing(struct load *l, const struct reader *chosen, struct err *e)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (readers[i]->completes == chosen && count_reader(l, readers[i]) > 0 &&
            read_format(l, readers[i], e) < 0)
            return -1;
    }
    return 0;
}

static void note_rest(struct load *l)
{
    if (l->nforeign > 0)
        run_note(l->run, false, "%zu file%s here %s no traces of a known format: %s%s", l->nforeign,
                 l->nforeign > 1 ? "s" : "", l->nforeign > 1 ? "are" : "is", l->foreign.data,
                 l->nforeign > NAMED_MAX ? ", ..." : "");
    if (l->ndamaged > NAMED_MAX)
        run_note(l->run, true, "%zu more files are left out", l->ndamaged - NAMED_MAX);
}

static int load(struct load *l, const struct load_opts *opts, struct err *e)
{
    const struct reader *reader;
    if (inspect_path(l, e) < 0)
        return -1;
    if (l->count == 0)
        return nothing_found(l, e);
    reader = choose_reader(l);
    if (choose_run(l, reader, opts, e) < 0)
        return -1;
    if (read_format(l, reader, e) < 0 || read_completing(l, reader, e) < 0)
        return -1;
    note_rest(l);
    run_finish(l->run);
    return 0;
}

int run_load(struct run *run, const char *path, const struct load_opts *opts, struct err *e)
{
    struct load l = {.run = run, .path = path, .foreign = BUF_INIT};
    int rc;
    run_init(run);
    run->source = printable(run, path);
    rc = load(&l, opts, e);
    free(l.list);
    buf_release(&l.foreign);
    return rc;
}
