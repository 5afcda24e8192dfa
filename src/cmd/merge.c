/* SPDX-License-Identifier: MIT
 *
 * specter merge: the answer of a command whose traces several processes have read.
 */
#include "cmd/cmd.h"
#include "cmd/shard.h"

#include <stdlib.h>
#include <string.h>

static const struct opt rows[] = {OPT_END};

static const char details[] =
    "SHARDS are what `specter analyze`, `metrics` or `export` with --shard I/N kept, "
    "files or\n"
    "folders of them. All N must be there, and the traces where they were, unchanged. The command "
    "then\n"
    "answers as if it had read the traces itself, to the byte, with the OPTIONS of its own that "
    "stand\n"
    "behind --.\n"
    "\n"
    "Exit status: the command's; 3 a shard is missing, there twice, damaged, or of another run.";

/* Returns whether the command has --shard-dir. The name of another in a shard is damage. */
static bool keeps_shards(const struct command *command)
{
    for (const struct opt *row = command->rows; row->name != NULL; row++) {
        if (strcmp(row->name, "shard-dir") == 0)
            return true;
    }
    return false;
}

/* specter COMMAND PATH [--run ID] OPTIONS */
static int answer(struct shards *s, char **options, int n, struct err *e)
{
    const struct command *command = cmd_find(s->of.command, e);
    char **words, run[] = "--run";
    int count = 0, status;
    if (command == NULL || !keeps_shards(command)) {
        err_set(e, ERR_INPUT, "%s: line 1 is damaged: no command '%s' keeps shards", s->of.label,
                s->of.command);
        return ERR_INPUT;
    }
    words = array_new((size_t)n + 5, sizeof *words);
    words[count++] = arena_strdup(&s->arena, command->name);
    words[count++] = arena_strdup(&s->arena, s->of.path);
    if (s->of.run_id != NULL) {
        words[count++] = run;
        words[count++] = arena_strdup(&s->arena, s->of.run_id);
    }
    for (int i = 0; i < n; i++)
        words[count++] = options[i];
    cmd_load_from(&s->shared);
    status = command->run(command, count, words, e);
    cmd_load_from(NULL);
    free(words);
    return status;
}

static int run_merge(const struct command *self, int argc, char **argv, struct err *e)
{
    struct shards shards;
    int before = 1, n, status;
    while (before < argc && strcmp(argv[before], "--") != 0)
        before++;
    status = cmd_parse(self, NULL, before, argv, false, &n, e);
    if (status != 0)
        return status;
    if (n == 0)
        return err_set(e, ERR_USAGE,
                       "merge needs shards: files or folders (see 'specter help merge')"),
               ERR_USAGE;
    if (shards_open(&shards, argv, n, e) < 0)
        status = (int)e->code;
    else
        status = answer(&shards, argv + before + 1, before < argc ? argc - before - 1 : 0, e);
    shards_release(&shards);
    return status;
}

const struct command cmd_merge = {
    .name = "merge",
    .synopsis = "merge SHARDS... [-- OPTIONS]",
    .summary = "answer from what several processes have read",
    .details = details,
    .rows = rows,
    .paged = true,
    .run = run_merge,
};
