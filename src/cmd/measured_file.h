/* SPDX-License-Identifier: MIT
 *
 * Measured times from the command line: tables, and logs of benchmarks.
 */
#ifndef SPECTER_CMD_MEASURED_FILE_H
#define SPECTER_CMD_MEASURED_FILE_H

#include "calib/measured.h"

/* measured_read(), which reads tables; and the files of bench_read() (bench/read.h), a log of
 * nccl-tests say, whose notes go to stderr. A log names its GPU and not its network: that of the
 * GPU is assumed, and said, unless opts has one. Of an operation that was done both out of place
 * and in place, rows in place are passed over, as by bench_study. 0, or -1 with e filled. */
int cmd_measured_read(struct measured *m, const char *path, const struct measured_opts *opts,
                      struct err *e);

#endif
