/* SPDX-License-Identifier: MIT
 *
 * The program: what its main() does, in `specter` (src/main.c) and in `specter-mpi`
 * (src/main_mpi.c).
 */
#ifndef SPECTER_CMD_PROGRAM_H
#define SPECTER_CMD_PROGRAM_H

/* Finds the command, calls it, reports. Returns the exit status. */
int program_main(int argc, char **argv);

#endif
