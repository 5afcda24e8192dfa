/* SPDX-License-Identifier: MIT
 *
 * Commands with kinds, each with options and help of its own: `specter bench gemm`, `specter
 * predict gemm`. A kind is one file; its messages send to the help of the whole command.
 */
#ifndef SPECTER_CMD_KINDS_H
#define SPECTER_CMD_KINDS_H

#include "cmd/cmd.h"

struct arena;

struct cmd_kind {
    const char *name;
    struct command command; /* .name is the whole command's */
    /* As struct command's; what is printed may live in the arena. */
    int (*run)(const struct command *self, int argc, char **argv, struct arena *a, struct err *e);
};

/* Runs the kind that the first operand names. Returns the exit status. */
int cmd_run_kind(const struct command *self, const struct cmd_kind *const *kinds, size_t nkinds,
                 int argc, char **argv, struct err *e);

#endif
