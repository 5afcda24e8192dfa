/* SPDX-License-Identifier: MIT
 *
 * Ctrl-C, a kill or a hang-up while a command computes its result.
 */
#ifndef SPECTER_CMD_INTERRUPT_H
#define SPECTER_CMD_INTERRUPT_H

/* From now on SIGINT, SIGTERM and SIGHUP, where they would end the process, first remove files that
 * are begun (base/whole_file.h) and say on stderr what is kept; then they end it. */
void interrupt_catch(void);

#endif
