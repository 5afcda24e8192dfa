/* SPDX-License-Identifier: MIT
 *
 * Finds the traces in a folder, file or archive, recognised by their content. Each file is opened
 * for its head alone, and closed again.
 */
#include "trace/load.h"

#include "base/hash.h"
#include "base/pool.h"
#include "trace/reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_AHEAD                                                                 \
    4096 /* entries of a folder that several threads look at before one takes them \
          */
#define LOOK_THREADS_FROM 64 /* where there are so many */
#define FOLDER_DEPTH_MAX 4   /* below the one that was named */

const struct reader *const load_readers[] = {
#define X(name) &reader_##name,
    READERS(X)
#undef X
};

const size_t load_nreaders = sizeof load_readers / sizeof *load_readers;

/* ---- names ---- */

/* The number after the last `word` in the text that stands by itself; -1 none. */
static int number_behind(const char *text, const char *word)
{
    int found = -1;
    size_t len = strlen(word);
    for (const char *p = text; (p = strcasestr(p, word)) != NULL; p++) {
        const char *digits = p + len;
        int64_t number = 0;
        if (p > text && isalpha((unsigned char)p[-1]))
            continue; /* frank3, localrank3 */
        if (p - text >= 6 && strncasecmp(p - 6, "local", 5) == 0)
            continue; /* local_rank3: of a node */
        digits += *digits != '\0' && strchr("_-=", *digits) != NULL;
        if (!isdigit((unsigned char)*digits))
            continue;
        for (; isdigit((unsigned char)*digits) && number < RUN_RANKS_MAX; digits++)
            number = number * 10 + (*digits - '0');
        found = number < RUN_RANKS_MAX ? (int)number : -1;
    }
    return found;
}

int rank_in_name(const char *label)
{
    const char *base = strrchr(label, '/');
    int rank;
    base = base != NULL ? base + 1 : label;
    rank = number_behind(base, "rank");
    return rank >= 0 ? rank : number_behind(base, "worker");
}

/* Returns whether a file of this name looks like a trace. */
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

const char *load_printable(struct run *run, const char *text)
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
void load_damaged(struct load *l, const struct err *e)
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

/* Results and hardware profiles of specter are expected beside traces. */
static bool own_document(const char *head, size_t len)
{
    static const char *const begins[] = {"{\"schema\":\"specter.", "{\"gpu\":{", "{\"network\":{"};
    char text[32];
    size_t n = 0;
    for (size_t i = 0; i < len && n + 1 < sizeof text; i++) {
        if (!isspace((unsigned char)head[i]))
            text[n++] = head[i];
    }
    text[n] = '\0';
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    }
    return false;
}

/* A file of no known format: of another kind when it begins as JSON does, else damaged. */
static void not_a_trace(struct load *l, const char *label, const char *head, size_t len)
{
    const char *what = load_what_else(label, head, len);
    struct err e;
    size_t i = 0;
    if (own_document(head, len))
        return;
    while (i < len && strchr(" \t\r\n", head[i]) != NULL && head[i] != '\0')
        i++;
    if ((i < len && (head[i] == '{' || head[i] == '[')) || strstr(label, ".json") == NULL) {
        foreign(l, label);
        return;
    }
    err_set(&e, ERR_INPUT, "%s: %s", label,
            len == 0       ? "empty"
            : what != NULL ? what
                           : "line 1: not a trace");
    load_damaged(l, &e);
}

/* Finds the reader of a file by its content; else by its name, where a format has nothing else. */
static const struct reader *recognise(const char *label, const char *head, size_t len)
{
    for (size_t i = 0; i < load_nreaders; i++) {
        if (load_readers[i]->sniff(head, len))
            return load_readers[i];
    }
    for (size_t i = 0; i < load_nreaders; i++) {
        if (load_readers[i]->named != NULL && load_readers[i]->named(label, head, len))
            return load_readers[i];
    }
    return NULL;
}

static struct source *add_source(struct load *l, const char *path, const char *label,
                                 const struct reader *reader)
{
    struct source *source;
    ARRAY_GROW(l->list, l->cap, l->count + 1);
    source = &l->list[l->count++];
    memset(source, 0, sizeof *source);
    source->path = path;
    source->label = label;
    source->reader = reader;
    source->folder = "";
    source->id.rank = -1;
    return source;
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
            load_damaged(l, &e);
        else if (n >= 0 && named_like_trace(base_name(label)))
            not_a_trace(l, label, head, (size_t)n);
        else if (n > 0 && l->other_what == NULL &&
                 (l->other_what = load_what_else(label, head, (size_t)n)) != NULL)
            l->other = base_name(label);
        return NULL;
    }
    source = add_source(l, path, label, reader);
    if (reader->identify != NULL)
        reader->identify(head, (size_t)n, &source->id);
    return source;
}

void load_cut_archive(struct load *l, const struct err *e)
{
    run_note(l->run, true, "%s; what stands before it is used", e->msg);
    if (l->first.code == ERR_NONE)
        l->first = *e;
}

static void describe(struct source *source, const struct stat *st)
{
    source->size = (uint64_t)st->st_size;
    source->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void inspect_archive(struct load *l, struct stream *s, const char *path)
{
    struct err e;
    struct stat st;
    const char *name;
    size_t member = 0;
    bool known = stat(path, &st) == 0;
    int rc;
    for (; (rc = stream_tar_next(s, &name, &e)) > 0; member++) {
        struct source *source = base_name(name)[0] != '.' ? inspect(l, s, path) : NULL;
        if (source == NULL)
            continue;
        source->archive = true;
        source->member = member;
        if (known)
            describe(source, &st);
    }
    if (rc < 0)
        load_cut_archive(l, &e);
}

/* ---- folders ---- */

/* Equal for two names of one file, as good as never for two files. */
static int64_t file_key(const struct stat *st)
{
    return (int64_t)hash_mix(hash_mix(1, (uint64_t)st->st_dev), (uint64_t)st->st_ino);
}

/* Gives a file its other name where that is better: it is no link, or it tells the rank. */
static void other_name(struct load *l, size_t at, const char *path, const char *folder, bool link)
{
    struct source *source = &l->list[at];
    const char *label = load_printable(l->run, path);
    bool tells = rank_in_name(source->label) >= 0;
    if (link > source->link || (link == source->link && (tells || rank_in_name(label) < 0)))
        return;
    source->path = path;
    source->label = label;
    source->folder = folder;
    source->link = link;
}

/* An entry of a folder, as it was found; those of a large one by several threads. */
struct entry {
    struct stat st;
    bool there; /* st is known */
    bool link;
    bool own; /* a plain file of the specter format, which says: */
    struct identity id;
};

/* 1 when it is a trace that stands here itself. */
static int inspect_entry(struct load *l, const char *path, const char *folder,
                         const struct entry *entry)
{
    const struct stat *st = &entry->st;
    const bool link = entry->link;
    struct source *source = NULL;
    struct stream *s = NULL;
    struct err e;
    uint32_t count = l->files.count, at = idmap_add(&l->files, file_key(st));
    if (at < count) {
        if (l->file_source[at] != SIZE_MAX)
            other_name(l, l->file_source[at], path, folder, link);
        return !link && l->file_source[at] != SIZE_MAX &&
               !l->list[l->file_source[at]].reader->beside;
    }
    ARRAY_GROW(l->file_source, l->cap_files, (size_t)at + 1);
    l->file_source[at] = SIZE_MAX;
    if (entry->own) {
        source = add_source(l, path, load_printable(l->run, path), &reader_jsonl);
        source->id = entry->id;
    } else if (stream_open(&s, path, &e) < 0) {
        if (named_like_trace(base_name(path)))
            load_damaged(l, &e);
        return 0;
    } else if (stream_is_tar(s)) {
        ARRAY_GROW(l->archives, l->cap_archives, l->narchives + 1);
        l->archives[l->narchives++] = path;
    } else {
        source = inspect(l, s, path);
    }
    if (source != NULL) {
        describe(source, st);
        source->folder = folder;
        source->link = link;
        l->file_source[at] = l->count - 1;
    }
    stream_close(s);
    return source != NULL && !link && !source->reader->beside;
}

/* Looks at one entry; its head where it is named like a trace of specter's. Anything doubtful is
 * left to inspect_entry(). */
static void look_at_entry(const char *folder, const struct dirent *d, struct entry *entry)
{
    const char *suffix = strstr(d->d_name, SPECTER_TRACE_SUFFIX);
    struct buf path = BUF_INIT;
    struct stat st;
    int fd = -1;
    buf_printf(&path, "%s/%s", folder, d->d_name);
    entry->there = stat(path.data, &entry->st) == 0;
    entry->link = d->d_type == DT_LNK ||
                  (d->d_type == DT_UNKNOWN && lstat(path.data, &st) == 0 && S_ISLNK(st.st_mode));
    if (entry->there && S_ISREG(entry->st.st_mode) && suffix != NULL &&
        strcmp(suffix, SPECTER_TRACE_SUFFIX) == 0 && entry->st.st_size > 0)
        fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        char *head = malloc(STREAM_PEEK);
        ssize_t n = head != NULL ? pread(fd, head, STREAM_PEEK, 0) : -1;
        entry->id.rank = -1;
        entry->own = n > 0 && head[0] == '{' && reader_jsonl.sniff(head, (size_t)n);
        if (entry->own)
            reader_jsonl.identify(head, (size_t)n, &entry->id);
        free(head);
        close(fd);
    }
    buf_release(&path);
}

struct looking {
    const char *folder;
    struct dirent **list;
    struct entry *entries; /* owned */
    size_t first;          /* of them in the list */
};

static void look_job(void *arg, size_t i)
{
    struct looking *w = arg;
    look_at_entry(w->folder, w->list[w->first + i], &w->entries[i]);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void inspect_below(struct load *l, const char *path, int depth);

/* The files of a folder, then the folders in it unless it holds traces itself. */
static void inspect_entries(struct load *l, const char *folder, struct dirent **list, int n,
                            int depth)
{
    size_t ahead = n < LOOK_AHEAD ? (size_t)n : LOOK_AHEAD;
    struct looking w = {folder, list, array_new(ahead, sizeof *w.entries), 0};
    size_t threads = l->opts->threads > 0 ? (size_t)l->opts->threads : pool_cpus();
    const char **below = NULL;
    size_t cap = 0, nbelow = 0;
    int own = 0;
    for (int i = 0; i < n; i++) {
        char *path = arena_printf(&l->run->arena, "%s/%s", folder, list[i]->d_name);
        const struct entry *entry = &w.entries[i % LOOK_AHEAD];
        if (i % LOOK_AHEAD == 0) {
            size_t left = (size_t)(n - i) < LOOK_AHEAD ? (size_t)(n - i) : LOOK_AHEAD;
            memset(w.entries, 0, left * sizeof *w.entries);
            w.first = (size_t)i;
            pool_run(left < LOOK_THREADS_FROM ? 1 : threads, left, look_job, &w, NULL);
        }
        if (l->entries == l->entries_max) {
            l->too_many = true;
            break;
        }
        l->entries++;
        if (!entry->there)
            continue; /* a link to nothing, or gone */
        if (S_ISREG(entry->st.st_mode)) {
            own += inspect_entry(l, path, folder, entry);
        } else if (!S_ISDIR(entry->st.st_mode)) {
            foreign(l, load_printable(l->run, path));
        } else if (depth < FOLDER_DEPTH_MAX) {
            ARRAY_GROW(below, cap, nbelow + 1);
            below[nbelow++] = path;
        }
    }
    free(w.entries);
    for (size_t i = 0; i < nbelow && own == 0; i++)
        inspect_below(l, below[i], depth + 1);
    free(below);
}

static int inspect_folder(struct load *l, const char *path, int depth, struct err *e)
{
    struct dirent **list;
    int n = scandir(path, &list, not_hidden, alphasort);
    if (n < 0)
        return err_set(e, ERR_INPUT, "%s: %s", load_printable(l->run, path), strerror(errno));
    if (n == 0 && depth == 0)
        err_set(&l->first, ERR_INPUT, "no traces in '%s': it is empty",
                load_printable(l->run, path));
    inspect_entries(l, path, list, n, depth);
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    return 0;
}

/* A folder in a folder: each once, since links can lead in a circle. */
static void inspect_below(struct load *l, const char *path, int depth)
{
    struct stat st;
    struct err e;
    uint32_t count = l->folders.count;
    if (stat(path, &st) < 0 || idmap_add(&l->folders, file_key(&st)) < count)
        return;
    if (inspect_folder(l, path, depth, &e) < 0)
        run_note(l->run, true, "%s; this folder is left out", e.msg);
}

/* Archives among the files: read when there is nothing else, so that a copy of the traces that was
 * packed beside them does not count twice. */
static void inspect_archives(struct load *l)
{
    size_t others = l->count;
    for (size_t i = 0; i < l->narchives; i++) {
        struct stream *s;
        struct err e;
        if (others > 0) {
            run_note(l->run, false,
                     "%s: an archive beside traces is not looked into: name it to read it",
                     load_printable(l->run, l->archives[i]));
        } else if (stream_open(&s, l->archives[i], &e) < 0) {
            load_damaged(l, &e);
        } else {
            inspect_archive(l, s, l->archives[i]);
            stream_close(s);
        }
    }
}

int load_find(struct load *l, struct err *e)
{
    struct stat st;
    if (stat(l->path, &st) < 0)
        return err_set(e, ERR_INPUT, "%s: %s", load_printable(l->run, l->path), strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        idmap_add(&l->folders, file_key(&st));
        if (inspect_folder(l, l->path, 0, e) < 0)
            return -1;
        inspect_archives(l);
        if (l->too_many)
            run_note(l->run, true,
                     "%s: more than %zu files and folders: only the first %zu are looked at",
                     load_printable(l->run, l->path), l->entries_max, l->entries_max);
        return 0;
    }
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_INPUT, "%s: neither a file nor a folder",
                       load_printable(l->run, l->path));
    struct stream *s;
    struct source *source;
    if (stream_open(&s, l->path, e) < 0)
        return -1;
    if (stream_is_tar(s)) {
        inspect_archive(l, s, l->path);
    } else if ((source = inspect(l, s, l->path)) != NULL) {
        describe(source, &st);
    } else if (l->ndamaged == 0) {
        /* The one file that was given is nothing that can be read. */
        const char *head;
        struct err unread;
        ssize_t n = stream_peek(s, &head, &unread);
        const char *what = n > 0 ? load_what_else(stream_label(s), head, (size_t)n) : NULL;
        err_set(&l->first, ERR_INPUT, "%s: %s", stream_label(s),
                what != NULL ? what : "not a trace of a known format");
    }
    stream_close(s);
    return 0;
}

int load_nothing(const struct load *l, struct err *e)
{
    const char *path = load_printable(l->run, l->path);
    if (l->first.code != ERR_NONE)
        return err_set(e, ERR_INPUT, "%s", l->first.msg);
    if (l->nforeign > 0)
        return err_set(e, ERR_INPUT, "no traces of a known format in '%s' (%s%s)", path,
                       l->foreign.data, l->nforeign > NAMED_MAX ? ", ..." : "");
    if (l->too_many)
        return err_set(
            e, ERR_INPUT,
            "no traces among the first %zu files and folders of '%s': more are not looked at",
            l->entries_max, path);
    if (l->other != NULL)
        return err_set(
            e, ERR_INPUT, "no traces in '%s': '%s' %s%s", path, l->other,
            strncmp(l->other_what, LOAD_LOOKS_LIKE, sizeof LOAD_LOOKS_LIKE - 1) == 0 ? "" : "is ",
            l->other_what);
    return err_set(e, ERR_INPUT, "no traces in '%s'", path);
}
