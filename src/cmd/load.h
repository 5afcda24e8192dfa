/* SPDX-License-Identifier: MIT
 *
 * How every command loads a run: run_load() with a bar on stderr while it takes long.
 */
#ifndef SPECTER_CMD_LOAD_H
#define SPECTER_CMD_LOAD_H

struct err;
struct run;

/* run_load(): of several runs the one named (NULL: the newest). The bar is there from half a second
 * on, on a terminal alone (progress.h), and is taken away. */
int cmd_load(struct run *run, const char *path, const char *run_id, struct err *e);

#endif
