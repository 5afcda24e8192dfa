/* SPDX-License-Identifier: MIT */
#include "cmd/compare_sides.h"

#include "analysis/limits.h"
#include "base/buf.h"
#include "cmd/cmd.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LABEL_MOST 255 /* bytes, as of a file's name */

/* Comparing a run with itself answers nothing. Takes note of the path. */
static int check_new(struct compared *sides, size_t at, const char *path, struct err *e)
{
    char *real = realpath(path, NULL);
    for (size_t i = 0; real != NULL && i <= at; i++) {
        for (size_t k = 0; k < sides[i].n; k++) {
            if (strcmp(sides[i].real[k], real) == 0) {
                free(real);
                return err_set(e, ERR_USAGE, "'%s' is given twice", path);
            }
        }
    }
    if (real == NULL)
        return err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    sides[at].real[sides[at].n] = real;
    return 0;
}

static int load_run(struct compared *side, const char *path, struct err *e)
{
    struct run *run = &side->runs[side->n];
    struct analysis *a = &side->analyses[side->n];
    int status = cmd_load(run, path, NULL, e);
    for (size_t i = 0; status == 0 && i < run->nnotes; i++)
        fprintf(stderr, "specter: note: %s: %s\n", path, run->notes[i].text);
    if (status == 0)
        status = limits_check(run, e);
    if (status == 0)
        status = analysis_init(a, run, ANALYSIS_ALL_RANKS, e);
    if (status == 0 && !analysis_timed(a)) {
        analysis_release(a);
        status = err_set(e, ERR_INPUT, "'%s' has no device times to compare", path);
    }
    if (status < 0) {
        run_release(run);
        free(side->real[side->n]);
        return -1;
    }
    side->partial = side->partial || run_partial(run);
    side->list[side->n++] = a;
    return 0;
}

static int add_path(struct compared *sides, size_t at, const char *path, struct err *e)
{
    const bool predicted = prediction_is(path);
    if (sides[at].n > 0 ? predicted : sides[at].prediction.n > 0)
        return err_set(e, ERR_USAGE, "'%s': a side is runs or a replay, not both", sides[at].paths);
    if (predicted && sides[at].prediction.n > 0)
        return err_set(e, ERR_USAGE, "'%s' is a replay, of which one is a side", path);
    if (predicted)
        return prediction_read(&sides[at].prediction, path, e);
    if (sides[at].n == COMPARE_RUNS_MAX)
        return err_set(e, ERR_USAGE, "more than %d runs of one side", COMPARE_RUNS_MAX);
    return check_new(sides, at, path, e) < 0 ? -1 : load_run(&sides[at], path, e);
}

/* Every folder in this one, by name; hidden ones passed over. */
static int add_folders(struct compared *sides, size_t at, const char *path, struct err *e)
{
    struct dirent **list;
    const int n = scandir(path, &list, NULL, alphasort);
    struct buf folder = BUF_INIT;
    size_t found = 0;
    int rc = n < 0 ? err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno)) : 0;
    for (int i = 0; i < n; i++) {
        struct stat st;
        buf_reset(&folder);
        buf_printf(&folder, "%s/%s", path, list[i]->d_name);
        if (rc == 0 && list[i]->d_name[0] != '.' && stat(folder.data, &st) == 0 &&
            S_ISDIR(st.st_mode)) {
            rc = add_path(sides, at, folder.data, e);
            found++;
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    buf_release(&folder);
    return rc == 0 && found == 0 ? err_set(e, ERR_INPUT, "%s: no folders of runs", path) : rc;
}

/* An unset variable in a script leaves one. */
static bool has_empty(const char *list)
{
    const size_t len = strlen(list);
    return len > 0 && (list[0] == ',' || list[len - 1] == ',' || strstr(list, ",,") != NULL);
}

static int load_side(struct compared *sides, size_t at, bool all_runs, struct arena *arena,
                     struct err *e)
{
    struct compared *side = &sides[at];
    char *copy = arena_strndup(arena, side->paths, strlen(side->paths)), *save = NULL;
    if (has_empty(side->paths))
        return err_set(e, ERR_USAGE, "'%s': one of the runs has no name", side->paths);
    for (char *path = strtok_r(copy, ",", &save); path != NULL; path = strtok_r(NULL, ",", &save)) {
        if ((all_runs ? add_folders : add_path)(sides, at, path, e) < 0)
            return -1;
    }
    return side->n > 0 || side->prediction.n > 0
               ? 0
               : err_set(e, ERR_USAGE, "'%s' names no run", side->paths);
}

/* "8, 16, 64" */
static void put_gpus(struct buf *b, const struct prediction *p)
{
    for (size_t i = 0; i < p->n; i++)
        buf_printf(b, "%s%lld", i > 0 ? ", " : "", (long long)p->list[i].gpus);
}

/* gpus 0: as many as were recorded, or all that there are. */
static int choose_scale(struct compared *side, int64_t gpus, int64_t recorded, struct err *e)
{
    const struct prediction *p = &side->prediction;
    struct buf known = BUF_INIT;
    side->predicted = prediction_at(p, gpus != 0 ? gpus : recorded);
    if (side->predicted == NULL && gpus == 0 && p->n == 1)
        side->predicted = &p->list[0];
    if (side->predicted != NULL)
        return 0;
    put_gpus(&known, p);
    if (gpus != 0)
        err_set(e, ERR_USAGE, "--at %lld: '%s' predicts %s GPUs", (long long)gpus, side->paths,
                known.data);
    else
        err_set(e, ERR_USAGE, "'%s' predicts %s GPUs: choose with --at", side->paths, known.data);
    buf_release(&known);
    return -1;
}

static int choose_scales(struct compared *sides, size_t n, int64_t gpus, struct err *e)
{
    int64_t recorded = 0;
    size_t replays = 0;
    for (size_t i = 0; i < n; i++) {
        if (recorded == 0 && sides[i].n > 0)
            recorded = sides[i].runs[0].world_size;
        replays += sides[i].prediction.n > 0;
    }
    if (gpus != 0 && replays == 0)
        return err_set(e, ERR_USAGE, "--at: no side is a replay");
    for (size_t i = 0; i < n; i++) {
        if (sides[i].prediction.n > 0 && choose_scale(&sides[i], gpus, recorded, e) < 0)
            return -1;
    }
    return 0;
}

int compared_load(struct compared *sides, size_t n, bool all_runs, int64_t gpus,
                  struct arena *arena, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (load_side(sides, i, all_runs, arena, e) < 0)
            return -1;
    }
    return choose_scales(sides, n, gpus, e);
}

void compared_release(struct compared *sides, size_t n)
{
    for (struct compared *side = sides; side < sides + n; side++) {
        for (size_t i = 0; i < side->n; i++) {
            analysis_release(&side->analyses[i]);
            run_release(&side->runs[i]);
            free(side->real[i]);
        }
        prediction_release(&side->prediction);
    }
}

struct compare_runs compared_runs(const struct compared *side)
{
    return (struct compare_runs){side->list, side->n, side->predicted};
}

/* ---- labels ---- */

/* The last `parts` parts of a path. */
static const char *tail_of(const char *path, int parts)
{
    const char *at = path + strlen(path);
    while (at > path && at[-1] == '/')
        at--;
    for (; at > path; at--) {
        if (at[-1] == '/' && --parts == 0)
            break;
    }
    return at;
}

/* As names of folders, in which '/' is '_'. */
static bool are_alike(const char *a, const char *b)
{
    for (; *a != '\0' && (*a == *b || (strchr("/_", *a) != NULL && strchr("/_", *b) != NULL)); a++)
        b++;
    return *a == *b;
}

static int check_names(const struct compared *sides, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(sides[i].label) > LABEL_MOST)
            return err_set(e, ERR_USAGE, "--name: '%.32s...' has more than %d bytes",
                           sides[i].label, LABEL_MOST);
        for (size_t k = 0; k < i; k++) {
            if (are_alike(sides[k].label, sides[i].label))
                return err_set(e, ERR_USAGE, "--name: '%.64s' and '%.64s' are alike",
                               sides[k].label, sides[i].label);
        }
    }
    return 0;
}

/* Names given, or as much of the end of each path as makes them differ. */
int compared_label(struct compared *sides, size_t n, const char *names, struct arena *arena,
                   struct err *e)
{
    char *copy = names != NULL ? arena_strndup(arena, names, strlen(names)) : NULL, *save = NULL;
    size_t given = 0;
    for (char *name = copy ? strtok_r(copy, ",", &save) : NULL; name != NULL;
         name = strtok_r(NULL, ",", &save), given++) {
        if (given < n)
            sides[given].label = name;
    }
    if (names != NULL && has_empty(names))
        return err_set(e, ERR_USAGE, "--name: one of the names is empty");
    if (names != NULL && given != n)
        return err_set(e, ERR_USAGE, "--name: %zu names for %zu sides", given, n);
    if (names != NULL && check_names(sides, n, e) < 0)
        return -1;
    for (int parts = 1; names == NULL && parts < 32; parts++) {
        bool differ = true;
        for (size_t i = 0; i < n; i++)
            sides[i].label = tail_of(sides[i].paths, parts);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < i; k++)
                differ = differ && strcmp(sides[i].label, sides[k].label) != 0;
        }
        if (differ)
            break;
    }
    for (size_t i = 0; i < n; i++) {
        struct buf safe = BUF_INIT;
        buf_put_printable(&safe, sides[i].label, strlen(sides[i].label));
        sides[i].label = arena_strndup(arena, safe.data, safe.len);
        buf_release(&safe);
    }
    return 0;
}
