/* SPDX-License-Identifier: MIT
 *
 * Chooses among the traces that are there: one format, and of several runs the newest, or the one
 * that was asked for.
 */
#include "trace/load.h"

#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return s->reader != reader && s->reader->completes != reader && s->reader->form_of != reader;
}

size_t load_count(const struct load *l, const struct reader *reader)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        n += l->list[i].reader == reader;
    return n;
}

/* Returns whether a run of this file may have that name. */
static bool has_name(const struct load *l, const struct source *s, const char *run_id)
{
    if (s->reader->identify != NULL)
        return strcmp(s->id.run, run_id) == 0;
    return s->reader->grouped && (strcmp(load_file_name(l, s), run_id) == 0 ||
                                  strcmp(load_folder_name(l, s), run_id) == 0);
}

/* The first of READERS, but one that has a run of the name that was asked for. */
static const struct reader *first_reader(const struct load *l)
{
    const struct reader *first = NULL;
    for (size_t i = 0; i < load_nreaders; i++) {
        for (size_t k = 0; k < l->count; k++) {
            if (l->list[k].reader != load_readers[i])
                continue;
            first = first != NULL ? first : load_readers[i];
            if (l->opts->run_id == NULL || has_name(l, &l->list[k], l->opts->run_id)) {
                /* The format whose files these are read with. */
                const struct reader *reader = load_readers[i];
                const struct reader *main =
                    reader->completes != NULL ? reader->completes : reader->form_of;
                return main != NULL && load_count(l, main) > 0 ? main : reader;
            }
        }
    }
    return first;
}

/* Files of another format: what they are called, and how to read them. */
static void note_aside(struct load *l, const struct reader *reader, const struct reader *chosen)
{
    struct buf names = BUF_INIT;
    const char *last = "";
    size_t n = 0, files = load_count(l, reader);
    bool runs = reader->identify != NULL || reader->grouped;
    for (size_t i = 0; i < l->count; i++) {
        const struct source *s = &l->list[i];
        const char *name = s->id.run[0] != '\0' ? s->id.run : load_file_name(l, s);
        if (s->reader != reader || strcmp(name, last) == 0)
            continue;
        if (n++ < NAMED_MAX)
            buf_printf(&names, "%s'%s'", n > 1 ? ", " : "", name);
        last = name;
    }
    run_note(l->run, false, "%zu %s trace%s here left aside: %s%s; the %s traces are read%s", files,
             reader->name, files > 1 ? "s" : "", names.data, n > NAMED_MAX ? ", ..." : "",
             chosen->name, runs ? " (--run chooses)" : "");
    buf_release(&names);
}

/* ---- runs ---- */

static int by_rank(const void *pa, const void *pb)
{
    const struct source *a = *(const struct source *const *)pa;
    const struct source *b = *(const struct source *const *)pb;
    int order = strcmp(a->id.run, b->id.run);
    if (order == 0)
        order = ORDER(a->id.rank, b->id.rank);
    return order != 0 ? order : strcmp(a->folder, b->folder);
}

static void split_folders(struct load *l, const struct reader *reader)
{
    for (size_t i = 0; i < l->count && reader->identify == NULL; i++)
        l->list[i].id.rank = rank_in_name(l->list[i].label);
    /* Folders that each have a trace of one rank are runs of their own; folders that each have
     * other ranks are parts of one. */
    const struct source **list = array_new(l->count, sizeof *list);
    bool repeat = false;
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].reader == reader) /* what completes its files has the same ranks */
            list[n++] = &l->list[i];
    }
    qsort(list, n, sizeof *list, by_rank);
    for (size_t i = 1; i < n; i++)
        repeat |= list[i]->id.rank >= 0 && list[i]->id.rank == list[i - 1]->id.rank &&
                  list[i]->folder != list[i - 1]->folder &&
                  strcmp(list[i]->id.run, list[i - 1]->id.run) == 0;
    free(list);
    l->by_folder = repeat;
    if (l->by_folder && reader->identify == NULL) {
        /* Files of a format that names no runs: the run is called as its folder, seen from where
         * the search began. */
        size_t top = strlen(l->path);
        for (size_t i = 0; i < l->count; i++) {
            struct source *s = &l->list[i];
            const char *below = strlen(s->folder) > top ? s->folder + top + 1 : ".";
            snprintf(s->id.run, sizeof s->id.run, "%s", load_printable(l->run, below));
        }
    }
}

/* Returns when a trace was begun; of one that does not say so, when its file was written. */
static int64_t date_of(const struct load *l, const struct source *s)
{
    return s->id.real_ns == 0 && l->by_folder ? s->mtime_ns : s->id.real_ns;
}

/* Orders sources by run, then by begin: a run id's launches are divided where a rank begins again,
 * or the folder is another one. */
static int compare_sources(const void *pa, const void *pb, void *by_folder)
{
    const struct source *a = pa, *b = pb;
    int order = strcmp(a->id.run, b->id.run);
    if (order == 0 && *(bool *)by_folder)
        order = strcmp(a->folder, b->folder);
    if (order == 0)
        order = ORDER(a->id.real_ns, b->id.real_ns);
    return order != 0 ? order : strcmp(a->label, b->label);
}

/* Returns whether source `at` begins another run than the one before it, of which these are the
 * ranks so far. Without a date launches cannot be told apart by their ranks. */
static bool is_other_run(const struct load *l, const struct idmap *ranks, size_t at)
{
    const struct source *s = &l->list[at], *before = &l->list[at - 1];
    if (strcmp(s->id.run, before->id.run) != 0 || (l->by_folder && s->folder != before->folder))
        return true;
    return s->id.real_ns != 0 && s->id.rank >= 0 && idmap_find(ranks, s->id.rank) != IDMAP_NONE;
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
    struct idmap ranks = {0};
    int launch = -1, newest = -1;
    int64_t newest_ns = 0;
    qsort_r(l->list, l->count, sizeof *l->list, compare_sources, &l->by_folder);
    for (size_t i = 0; i < l->count; i++) {
        struct source *s = &l->list[i];
        bool fits = run_id == NULL || strcmp(s->id.run, run_id) == 0;
        if (i == 0 || is_other_run(l, &ranks, i)) {
            launch++;
            idmap_release(&ranks);
            if (fits && (newest < 0 || date_of(l, s) >= newest_ns)) {
                newest = launch;
                newest_ns = date_of(l, s);
            }
        }
        s->launch = launch;
        if (s->id.rank >= 0)
            idmap_add(&ranks, s->id.rank);
    }
    idmap_release(&ranks);
    return newest < 0 ? -1 : meant_launch(l, newest);
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

static int choose_run(struct load *l, const struct reader *reader, struct err *e)
{
    const char *run_id = l->opts->run_id;
    struct buf others = BUF_INIT;
    int chosen;
    size_t n = 0;
    if (reader->grouped && reader->identify == NULL) { /* chosen when all is read */
        qsort_r(l->list, l->count, sizeof *l->list, compare_sources, &l->by_folder);
        return 0;
    }
    split_folders(l, reader);
    chosen = number_launches(l, run_id);
    if (reader->identify != NULL) {
        adopt_unidentified(l, chosen);
        drop_sources(l, lost, NULL);
    }
    /* The launches other than the chosen one: "'a' (8 files), 'b' (8 files)". */
    for (size_t i = 0, end; i < l->count; i = end) {
        for (end = i; end < l->count && l->list[end].launch == l->list[i].launch;)
            end++;
        if (l->list[i].launch == chosen)
            continue;
        if (n < NAMED_MAX)
            buf_printf(&others, "%s'%s' (%zu file%s)", n > 0 ? ", " : "", l->list[i].id.run,
                       end - i, end - i > 1 ? "s" : "");
        else if (n == NAMED_MAX)
            buf_puts(&others, ", ...");
        n++;
    }
    if (chosen < 0)
        err_set(e, ERR_INPUT, "no run '%s' in '%s': there %s %s", run_id,
                load_printable(l->run, l->path), n == 1 ? "is" : "are", others.data);
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

/* ---- files that others were made from ---- */

static int by_path(const void *pa, const void *pb)
{
    const struct source *const *a = pa, *const *b = pb;
    return strcmp((*a)->path, (*b)->path);
}

/* Returns whether one of `sorted`, by path, was made from this file. */
static bool was_made(const struct source *const *sorted, size_t n, const struct source *s)
{
    const struct reader *of = s->reader->form_of != NULL ? s->reader->form_of : s->reader;
    const size_t stem = s->reader->made_from != NULL ? s->reader->from_stem(s->path) : 0;
    size_t first = 0, end = n;
    if (stem == 0 || s->archive)
        return false;
    while (first < end) { /* the first that begins with the stem, or comes after it */
        const size_t middle = first + (end - first) / 2;
        if (strncmp(sorted[middle]->path, s->path, stem) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    for (size_t i = first; i < n && strncmp(sorted[i]->path, s->path, stem) == 0; i++) {
        if (sorted[i] != s && sorted[i]->reader == of && !sorted[i]->archive &&
            s->reader->made_from(sorted[i]->path, s->path))
            return true;
    }
    return false;
}

static void drop_made(struct load *l)
{
    const struct source **sorted = array_new(l->count + 1, sizeof *sorted);
    struct source *kept = array_new(l->count + 1, sizeof *kept);
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        sorted[i] = &l->list[i];
    qsort(sorted, l->count, sizeof *sorted, by_path);
    for (size_t i = 0; i < l->count; i++) {
        if (!was_made(sorted, l->count, &l->list[i]))
            kept[n++] = l->list[i];
    }
    memcpy(l->list, kept, n * sizeof *kept);
    l->count = n;
    free(kept);
    free(sorted);
}

/* ---- together ---- */

const struct reader *load_choose(struct load *l, struct err *e)
{
    /* A folder can hold recordings by several tools; one is taken, with what completes it. */
    const struct reader *reader = first_reader(l);
    for (size_t i = 0; i < load_nreaders; i++) {
        const struct reader *other = load_readers[i];
        if (other != reader && other->completes != reader && other->form_of != reader &&
            load_count(l, other) > 0)
            note_aside(l, other, reader);
    }
    drop_sources(l, of_other_reader, reader);
    drop_made(l);
    return choose_run(l, reader, e) < 0 ? NULL : reader;
}
