/* SPDX-License-Identifier: MIT
 *
 * Of `specter doctor`: one program. Its file tells which libraries it loads at the start; which it
 * opens later, as Python does, only a trace tells.
 */
#include "base/elf_file.h"
#include "cmd/cmd.h"
#include "cmd/doctor.h"
#include "cmd/app.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- the way to it ---- */

static void report_steps(struct doctor *d, const struct app *p, bool complete)
{
    for (size_t i = 0; i < p->step_count; i++) {
        const struct app_step *s = &p->steps[i];
        if (i + 1 < p->step_count || complete)
            doctor_print(d, DOCTOR_OK, "program", NULL, "'%s' %s '%s'", s->path, s->relation,
                         s->next);
        else
            doctor_print(d, DOCTOR_PROBLEM, "program", "install it",
                         "'%s' %s '%s', which is not there", s->path, s->relation, s->next);
    }
}

/* false, after saying so: there is no such program. */
static bool find_program(struct doctor *d, struct app *p, const char *name)
{
    enum app_state state = app_find(p, name);
    report_steps(d, p, state != APP_NEXT_MISSING);
    if (state == APP_MISSING)
        doctor_print(d, DOCTOR_PROBLEM, "program", "check its name and PATH",
                     "'%s' is not there, or cannot be executed", name);
    else if (state == APP_NOT_EXECUTABLE)
        doctor_print(d, DOCTOR_PROBLEM, "program", NULL, "'%s' is neither a program nor a script",
                     p->path);
    else if (state == APP_FOUND && p->unknown != NULL)
        doctor_print(d, DOCTOR_WARNING, "program",
                     "name the program that it starts: specter doctor -- PROGRAM",
                     "what '%s' starts cannot be known: a shell may start anything", p->unknown);
    return state == APP_FOUND;
}

static void report_findings(struct doctor *d, const struct app *p, size_t first)
{
    for (size_t i = first; i < p->finding_count; i++) {
        const struct app_finding *f = &p->findings[i];
        doctor_print(d, f->effect == APP_DIFFERS ? DOCTOR_WARNING : DOCTOR_PROBLEM, "program",
                     f->advice, "%s", f->text);
    }
}

/* False: nothing of it would be seen. */
static bool check_program(struct doctor *d, struct app *p)
{
    bool loaded = app_check(p);
    if (loaded)
        doctor_print(d, DOCTOR_OK, "program", NULL, "%s", p->file);
    report_findings(d, p, 0);
    return loaded;
}

/* ---- the GPU libraries that it loads ---- */

/* What such libraries are called: both have NCCL's functions. */
static const char *const stems[] = {"libnccl", "librccl"};
#define STEMS (sizeof stems / sizeof *stems)

static bool is_nccl(const char *path)
{
    for (size_t i = 0; i < STEMS; i++) {
        if (doctor_is_library(path, stems[i]))
            return true;
    }
    return false;
}

static void report_static_nccl(struct doctor *d, const struct app *p)
{
    for (size_t i = 0; i < p->object_count; i++) {
        const char *path = p->objects[i].path;
        struct elf_file f;
        if (!is_nccl(path) && elf_file_open(&f, path, NULL) == 0) {
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
        if (doctor_is_library(p->objects[i].path, stem))
            dir_list_add(&copies, p->objects[i].path);
    }
    linked = copies.count > 0;
    if (linked)
        doctor_copies(d, &d->loader.dirs, stem, &copies);
    if (copies.count > 1)
        doctor_print(d, DOCTOR_WARNING, stem + 3, "make sure that both ends of a job load the same",
                     "'%s' finds %s first, and %s is there too", p->file, copies.dirs[0],
                     copies.dirs[1]);
    else if (linked)
        doctor_print(d, DOCTOR_OK, stem + 3, NULL, "%s, linked", copies.dirs[0]);
    free(copies.dirs);
    return linked;
}

static bool report_all_linked(struct doctor *d, const struct app *p)
{
    bool linked = false;
    for (size_t i = 0; i < STEMS; i++)
        linked |= report_linked(d, p, stems[i]);
    return linked;
}

static void report_missing(struct doctor *d, const struct app *p)
{
    for (size_t i = 0; i < p->missing.count; i++)
        doctor_print(d, DOCTOR_WARNING, "needs", "set LD_LIBRARY_PATH as for a run",
                     "'%s' is needed and not found", p->missing.dirs[i]);
}

/* What a training program's calls go to. */
static void report_loaded(struct doctor *d, const struct app *p)
{
    static const char *const of_gpu[] = {"libcudart", "libcublas",   "libcublasLt",
                                         "libnccl",   "libamdhip64", "librccl"};
    for (size_t s = 0; s < sizeof of_gpu / sizeof *of_gpu; s++) {
        for (size_t i = 0; i < p->object_count; i++) {
            const char *path = p->objects[i].path;
            if (doctor_is_library(path, of_gpu[s]))
                doctor_print(d, DOCTOR_OK, of_gpu[s] + 3, NULL, "%s (version %s), by torch", path,
                             doctor_version(d, path));
        }
    }
}

/* Python links to nothing of a GPU, but PyTorch does: what the import would load. The interpreter
 * is asked by the name that was found: the file behind a link no longer knows its packages. false:
 * there is none. */
static bool report_torch(struct doctor *d, struct app *p)
{
    struct doctor_torch torch;
    size_t first;
    if (!doctor_is_python(p->path) || !doctor_find_torch(d, p->path, &torch))
        return false;
    doctor_print(d, DOCTOR_OK, "torch", NULL, "%s (version %s)", torch.folder, torch.version);
    app_walk_library(p, torch.module);
    report_loaded(d, p);
    first = p->finding_count;
    app_check_symbols(p);
    report_findings(d, p, first);
    return true;
}

static void report_libraries(struct doctor *d, struct app *p)
{
    bool linked = report_all_linked(d, p), loaded = !linked && report_torch(d, p);
    report_static_nccl(d, p);
    report_missing(d, p);
    if (!linked && !loaded)
        doctor_print(d, DOCTOR_OK, "nccl", NULL,
                     "not linked: what the program loads while it runs is seen then");
}

void doctor_check_program(struct doctor *d, const char *name)
{
    struct app p;
    const char *library = NULL;
    cmd_library(&d->arena, &library, NULL);
    app_init(&p, &d->arena, &d->loader, library, d->patience);
    if (find_program(d, &p, name) && check_program(d, &p))
        report_libraries(d, &p);
    app_release(&p);
}
