/* SPDX-License-Identifier: MIT
 *
 * Of `specter doctor`: where GPU libraries are looked for, and which are there; which of them a
 * program loads. Of libraries names of files are all that is looked at.
 */
#include "base/child.h"
#include "base/elf_file.h"
#include "cmd/app.h"
#include "cmd/cmd.h"

#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- lists of paths ---- */

/* Adds what a pattern finds, as real paths. */
static void add_matches(struct doctor *d, const char *pattern, struct dir_list *into)
{
    glob_t found;
    char full[PATH_MAX];
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (realpath(found.gl_pathv[i], full) != NULL)
            dir_list_add(into, arena_strdup(&d->arena, full));
    }
    globfree(&found);
}

/* Patterns of a library's file name. The second is that of wheels: libnccl-1a2b3c4d.so.2. */
#define HEX "[0-9a-f]"
static const char *const names[] = {".so*", "-" HEX HEX HEX HEX HEX HEX HEX HEX "*.so*"};
#define NAMES (sizeof names / sizeof *names)

/* Returns whether the file of this path is, by its name, the library that "libnccl" names. Its
 * plugins, as libnccl-net.so, are not. */
static bool is_library(const char *path, const char *stem)
{
    const char *file = path_base_name(path);
    size_t len = strlen(stem);
    if (strncmp(file, stem, len) != 0)
        return false;
    for (size_t i = 0; i < NAMES; i++) {
        if (fnmatch(names[i], file + len, 0) == 0)
            return true;
    }
    return false;
}

/* Real paths of the files of a library, as "libnccl" names it, in these folders; each once.
 * Appended to `into`. */
static void find_copies(struct doctor *d, const struct dir_list *in, const char *stem,
                        struct dir_list *into)
{
    for (size_t i = 0; i < in->count; i++) {
        for (size_t n = 0; n < NAMES; n++)
            add_matches(d, arena_printf(&d->arena, "%s/%s%s", in->dirs[i], stem, names[n]), into);
    }
}

void doctor_find_dirs(struct doctor *d)
{
    /* Packages called nvidia-* keep each library in nvidia/<part>/lib beside all others. */
    static const char *const ask[] = {"python3", "-c", "import sys\nprint('\\n'.join(sys.path))",
                                      NULL};
    struct buf out = BUF_INIT;
    char *line, *rest;
    loader_init(&d->loader, &d->arena, d->patience);
    ask_program(ask, d->patience, &out);
    rest = out.data;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line == '/')
            add_matches(d, arena_printf(&d->arena, "%s/nvidia/*/lib", line), &d->python);
    }
    buf_release(&out);
}

/* Returns whether the loader takes this file where its name is asked for. */
void doctor_check_expected(struct doctor *d, const char *path)
{
    const char *name = path_base_name(path), *found, *folder;
    struct elf_file f;
    char real[PATH_MAX];
    folder = name > path ? arena_strndup(&d->arena, path, (size_t)(name - path)) : "./";
    if (realpath(path, real) == NULL) {
        doctor_print(d, DOCTOR_PROBLEM, "expected", "look at the path", "'%s' is not there", path);
        return;
    }
    if (elf_file_open(&f, real, NULL) == 0) {
        name = f.soname != NULL ? arena_strdup(&d->arena, f.soname) : name;
        elf_file_close(&f);
    }
    found = loader_file(&d->loader.dirs, &d->arena, name);
    if (found == NULL)
        doctor_print(d, DOCTOR_PROBLEM, "expected",
                     arena_printf(&d->arena, "put %s into LD_LIBRARY_PATH", folder),
                     "the loader finds no %s", name);
    else if (strcmp(found, real) != 0)
        doctor_print(d, DOCTOR_PROBLEM, "expected",
                     arena_printf(&d->arena, "put %s first in LD_LIBRARY_PATH", folder),
                     "the loader finds %s, and not '%s'", found, path);
    else
        doctor_print(d, DOCTOR_OK, "expected", NULL, "%s is what the loader finds", found);
}

/* ---- what is there ---- */

enum {
    EXPECTED = 1, /* its absence is worth a word */
    SINGLE = 2,   /* so are several copies */
    UNSEEN = 4,   /* so is its presence: the tracer has no hooks for it */
};

static const struct {
    const char *stem;
    unsigned what;
} libraries[] = {
    {"libcuda", EXPECTED},          {"libcudart", 0},
    {"libcublas", EXPECTED},        {"libcublasLt", EXPECTED},
    {"libnccl", EXPECTED | SINGLE}, {"librccl", SINGLE},
    {"librocblas", UNSEEN},         {"libhipblaslt", UNSEEN},
};

/* Returns whether a package's list of files names this one, in lines such as
 * "nvidia/nccl/lib/libnccl.so.2,sha256=...,1". */
static bool lists(const char *record, const char *file)
{
    size_t len = strlen(file), size = 0;
    char *line = NULL;
    bool found = false;
    FILE *in = fopen(record, "r");
    while (in != NULL && !found && getline(&line, &size, in) > 0)
        found = strncmp(line, file, len) == 0 && line[len] == ',';
    if (in != NULL)
        fclose(in);
    free(line);
    return found;
}

/* Of .../nvidia_nccl_cu13-2.28.9.dist-info/RECORD: 2.28.9. */
static const char *version_in(struct doctor *d, const char *record)
{
    const char *end = strrchr(record, '/'), *dash;
    const char *name = memrchr(record, '/', (size_t)(end - record));
    if (name == NULL || (dash = strchr(name, '-')) == NULL || dash > end)
        return NULL;
    end -= strlen(".dist-info");
    return dash < end ? arena_strndup(&d->arena, dash + 1, (size_t)(end - dash) - 1) : NULL;
}

/* The version of the Python package whose file it is: of nvidia/nccl/lib/libnccl.so.2 or, since
 * CUDA 13, one folder for the libraries of several packages, nvidia/cu13/lib/libcublas.so.13. */
static const char *package_version(struct doctor *d, const char *path)
{
    struct dir_list records = {NULL, 0, 0};
    const char *file = NULL, *version = NULL;
    for (const char *p = path; (p = strstr(p, "/nvidia/")) != NULL; p++)
        file = p + 1;
    if (file == NULL)
        return NULL;
    add_matches(d,
                arena_printf(&d->arena, "%.*snvidia_*.dist-info/RECORD", (int)(file - path), path),
                &records);
    for (size_t i = 0; i < records.count && version == NULL; i++) {
        if (lists(records.dirs[i], file))
            version = version_in(d, records.dirs[i]);
    }
    free(records.dirs);
    return version;
}

/* Of a library's file: that in its name, that of the Python package it is of, or what its name has.
 */
static const char *version_of(struct doctor *d, const char *path)
{
    const char *so = strstr(strrchr(path, '/'), ".so."), *packaged;
    if (so != NULL && strchr(so + 4, '.') != NULL)
        return so + 4;
    packaged = package_version(d, path);
    return packaged != NULL ? packaged : so != NULL ? so + 4 : "unknown";
}

static const char *list_copies(struct doctor *d, const struct dir_list *copies)
{
    struct buf text = BUF_INIT;
    const char *kept;
    for (size_t i = 0; i < copies->count; i++)
        buf_printf(&text, "%s%s (version %s)", i > 0 ? ", " : "", copies->dirs[i],
                   version_of(d, copies->dirs[i]));
    kept = arena_strdup(&d->arena, text.data);
    buf_release(&text);
    return kept;
}

void doctor_check_libraries(struct doctor *d)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const char *stem = libraries[i].stem;
        unsigned what = libraries[i].what;
        struct dir_list copies = {NULL, 0, 0};
        find_copies(d, &d->loader.dirs, stem, &copies);
        find_copies(d, &d->python, stem, &copies);
        if (copies.count == 0 && what & EXPECTED)
            doctor_print(d, DOCTOR_WARNING, stem, "nothing, if programs bring their own",
                         "not found where the loader or python3 looks");
        else if (copies.count > 0 && what & UNSEEN)
            doctor_print(d, DOCTOR_WARNING, stem, NULL, "%s: calls of it are not recorded",
                         list_copies(d, &copies));
        else if (copies.count > 1 && what & SINGLE)
            doctor_print(d, DOCTOR_WARNING, stem,
                         "see which one a program loads: init has its version", "%zu copies: %s",
                         copies.count, list_copies(d, &copies));
        else if (copies.count > 0)
            doctor_print(d, DOCTOR_OK, stem, NULL, "%s", list_copies(d, &copies));
        free(copies.dirs);
    }
}

/* ---- the PyTorch of an interpreter ---- */

struct torch {
    const char *folder, *module; /* of the package; what its import loads first */
    const char *version;
};

/* Asks the interpreter, in a child process, which looks for the package and does not import it.
 * False: it has none, or does not answer. */
static bool find_torch(struct doctor *d, const char *python, struct torch *torch)
{
    static const char ask[] = "from importlib import metadata, util\n"
                              "torch = util.find_spec('torch')\n"
                              "if torch and torch.submodule_search_locations:\n"
                              "    print(torch.submodule_search_locations[0])\n"
                              "    print(metadata.version('torch'))\n";
    const char *const argv[] = {python, "-c", ask, NULL};
    struct buf out = BUF_INIT;
    glob_t modules;
    int status = ask_program(argv, d->patience, &out);
    char *rest = out.data, *folder = strsep(&rest, "\n"), *version = strsep(&rest, "\n");
    *torch = (struct torch){NULL, NULL, "unknown"};
    if (status != ASK_LATE && WIFEXITED(status) && folder != NULL && *folder == '/') {
        torch->folder = arena_strdup(&d->arena, folder);
        if (glob(arena_printf(&d->arena, "%s/_C.*so", folder), 0, NULL, &modules) == 0) {
            if (modules.gl_pathc > 0)
                torch->module = arena_strdup(&d->arena, modules.gl_pathv[0]);
            globfree(&modules);
        }
        if (version != NULL && *version != '\0')
            torch->version = arena_strdup(&d->arena, version);
    }
    buf_release(&out);
    return torch->module != NULL;
}

/* ---- one program ----
 *
 * Its file tells which libraries it loads at the start; which it opens later, as Python does, only
 * a trace tells. */

static void report_findings(struct doctor *d, const struct app *p, size_t first)
{
    for (size_t i = first; i < p->finding_count; i++) {
        const struct app_finding *f = &p->findings[i];
        doctor_print(d, f->effect == APP_DIFFERS ? DOCTOR_WARNING : DOCTOR_PROBLEM, "program",
                     f->advice, "%s", f->text);
    }
}

/* false, after saying so: there is no such program. */
static bool find_program(struct doctor *d, struct app *p, const char *name)
{
    enum app_state state = app_find(p, name);
    for (size_t i = 0; i < p->step_count; i++) { /* the way to it */
        const struct app_step *s = &p->steps[i];
        if (i + 1 < p->step_count || state != APP_NEXT_MISSING)
            doctor_print(d, DOCTOR_OK, "program", NULL, "'%s' %s '%s'", s->path, s->relation,
                         s->next);
        else
            doctor_print(d, DOCTOR_PROBLEM, "program", "install it",
                         "'%s' %s '%s', which is not there", s->path, s->relation, s->next);
    }
    if (state == APP_MISSING)
        doctor_print(d, DOCTOR_PROBLEM, "program", "check its name and PATH",
                     "'%s' is not there, or cannot be executed", name);
    else if (state == APP_NOT_EXECUTABLE)
        doctor_print(d, DOCTOR_PROBLEM, "program", NULL, "'%s' is neither a program nor a script",
                     p->path);
    else if (state == APP_TOO_MANY_STEPS)
        doctor_print(d, DOCTOR_WARNING, "program",
                     "name the program that it starts: specter doctor -- PROGRAM",
                     "'%s' starts another file, and only %d are followed", p->path, APP_STEPS);
    else if (state == APP_FOUND && p->unknown != NULL)
        doctor_print(d, DOCTOR_WARNING, "program",
                     "name the program that it starts: specter doctor -- PROGRAM",
                     "what '%s' starts cannot be known: a shell may start anything", p->unknown);
    return state == APP_FOUND;
}

/* ---- the GPU libraries that it loads ---- */

/* Names of such libraries: both have NCCL's functions. */
static const char *const stems[] = {"libnccl", "librccl"};
#define STEMS (sizeof stems / sizeof *stems)

static void report_static_nccl(struct doctor *d, const struct app *p)
{
    for (size_t i = 0; i < p->object_count; i++) {
        const char *path = p->objects[i].path;
        struct elf_file f;
        bool is_nccl = false;
        for (size_t s = 0; s < STEMS; s++)
            is_nccl = is_nccl || is_library(path, stems[s]);
        if (!is_nccl && elf_file_open(&f, path, NULL) == 0) {
            if (elf_file_defines(&f, "ncclAllReduce") || elf_file_defines(&f, "pncclAllReduce"))
                doctor_print(d, DOCTOR_PROBLEM, "static nccl", "link it to libnccl.so.2",
                             "'%s' has NCCL linked in: its calls may not be seen", path);
            elf_file_close(&f);
        }
    }
}

/* false: the program is not linked to that library. */
static bool report_linked(struct doctor *d, const struct app *p, const char *stem)
{
    struct dir_list copies = {NULL, 0, 0};
    bool linked;
    for (size_t i = 0; i < p->object_count; i++) {
        if (is_library(p->objects[i].path, stem))
            dir_list_add(&copies, p->objects[i].path);
    }
    linked = copies.count > 0;
    if (linked)
        find_copies(d, &d->loader.dirs, stem, &copies);
    if (copies.count > 1)
        doctor_print(d, DOCTOR_WARNING, stem + 3, "make sure that both ends of a job load the same",
                     "'%s' finds %s first, and %s is there too", p->file, copies.dirs[0],
                     copies.dirs[1]);
    else if (linked)
        doctor_print(d, DOCTOR_OK, stem + 3, NULL, "%s, linked", copies.dirs[0]);
    free(copies.dirs);
    return linked;
}

/* Python links to nothing of a GPU, but PyTorch does: what the import would load. The interpreter
 * is asked by the name that was found: the file after a link no longer knows its packages. false:
 * there is none. */
static bool report_torch(struct doctor *d, struct app *p)
{
    /* Libraries that a training program calls. */
    static const char *const of_gpu[] = {"libcudart", "libcublas",   "libcublasLt",
                                         "libnccl",   "libamdhip64", "librccl"};
    const char *file = path_base_name(p->path);
    bool is_python =
        strncmp(file, "python", 6) == 0 && file[6 + strspn(file + 6, "0123456789.")] == '\0';
    struct torch torch;
    size_t first;
    if (!is_python || !find_torch(d, p->path, &torch))
        return false;
    doctor_print(d, DOCTOR_OK, "torch", NULL, "%s (version %s)", torch.folder, torch.version);
    app_walk_library(p, torch.module);
    for (size_t s = 0; s < sizeof of_gpu / sizeof *of_gpu; s++) {
        for (size_t i = 0; i < p->object_count; i++) {
            const char *path = p->objects[i].path;
            if (is_library(path, of_gpu[s]))
                doctor_print(d, DOCTOR_OK, of_gpu[s] + 3, NULL, "%s (version %s), by torch", path,
                             version_of(d, path));
        }
    }
    first = p->finding_count;
    app_check_symbols(p);
    report_findings(d, p, first);
    return true;
}

static void report_libraries(struct doctor *d, struct app *p)
{
    bool linked = false, loaded;
    for (size_t i = 0; i < STEMS; i++)
        linked |= report_linked(d, p, stems[i]);
    loaded = !linked && report_torch(d, p);
    report_static_nccl(d, p);
    for (size_t i = 0; i < p->missing.count; i++)
        doctor_print(d, DOCTOR_WARNING, "needs", "set LD_LIBRARY_PATH as for a run",
                     "'%s' is needed and not found", p->missing.dirs[i]);
    if (!linked && !loaded)
        doctor_print(d, DOCTOR_OK, "nccl", NULL,
                     "not linked: what the program loads while it runs is seen then");
}

void doctor_check_program(struct doctor *d, const char *name)
{
    struct app p;
    const char *library = NULL;
    bool loaded;
    cmd_library(&d->arena, &library, NULL);
    app_init(&p, &d->arena, &d->loader, library, d->patience);
    if (find_program(d, &p, name)) {
        loaded = app_check(&p);
        if (loaded)
            doctor_print(d, DOCTOR_OK, "program", NULL, "%s", p.file);
        report_findings(d, &p, 0);
        if (loaded) /* else nothing of it would be seen */
            report_libraries(d, &p);
    }
    app_release(&p);
}
