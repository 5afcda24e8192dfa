/* SPDX-License-Identifier: MIT
 *
 * For tests of the readers: runs loaded from text, and what their notes say.
 */
#ifndef SPECTER_TEST_TRACE_LOAD_H
#define SPECTER_TEST_TRACE_LOAD_H

#include "test.h"
#include "trace/run.h"
#include "trace_files.h"

/* Loads and checks that this worked. */
static inline void load_path(struct run *run, const char *path)
{
    struct err e = {0};
    CHECK_INT_OF(path, run_load(run, path, NULL, &e), 0);
    CHECK_STR_OF(path, e.msg, "");
}

/* The message of a load that must fail; "" when it does not. */
static inline const char *load_error(const char *path, const char *run_id)
{
    static struct err e;
    struct load_opts opts = {.run_id = run_id};
    struct run run;
    int rc = run_load(&run, path, &opts, &e);
    run_release(&run);
    return rc < 0 && e.code == ERR_INPUT ? e.msg : "";
}

/* Both of a folder with one file, which is removed again. */
static inline void load_text(struct run *run, const char *name, const char *text)
{
    const char *folder = make_folder();
    write_text(folder, name, text);
    load_path(run, folder);
    remove_folder(folder);
}

static inline const char *text_error(const char *name, const char *text)
{
    const char *folder = make_folder(), *error;
    write_text(folder, name, text);
    error = load_error(folder, NULL);
    remove_folder(folder);
    return error;
}

/* The i-th operation whose name holds this. */
static inline const struct op *op_like(const struct rank *rank, const char *part, int i)
{
    static const struct op none = {.name = "", .caller = ""};
    for (size_t o = 0; o < rank->nops; o++) {
        if (strstr(rank->ops[o].name, part) != NULL && i-- == 0)
            return &rank->ops[o];
    }
    test_fail(__FILE__, __LINE__, "no operation '%s'", part);
    return &none;
}

/* The first of them. */
static inline const struct op *op_named(const struct rank *rank, const char *part)
{
    return op_like(rank, part, 0);
}

/* The note that holds this text, losses as "loss: ..."; "" when there is none. */
static inline const char *note_with(const struct run *run, const char *part)
{
    static char text[4096];
    for (size_t i = 0; i < run->nnotes; i++) {
        if (strstr(run->notes[i].text, part) == NULL)
            continue;
        snprintf(text, sizeof text, "%s%s", run->notes[i].loss ? "loss: " : "", run->notes[i].text);
        return text;
    }
    return "";
}

/* All notes, for a check that there is none. */
static inline const char *all_notes(const struct run *run)
{
    static char text[8192];
    text[0] = '\0';
    for (size_t i = 0; i < run->nnotes; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "%s%s\n", run->notes[i].loss ? "loss: " : "",
                 run->notes[i].text);
    }
    return text;
}

#endif
