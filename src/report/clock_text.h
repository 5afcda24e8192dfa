/* SPDX-License-Identifier: MIT
 *
 * How the text and the page of an analysis call the clocks of a run.
 */
#ifndef SPECTER_REPORT_CLOCK_TEXT_H
#define SPECTER_REPORT_CLOCK_TEXT_H

#include "trace/run.h"

/* "clocks of 2 hosts" where each has a host of its own name, else "2 clocks": dumps of processes
 * may name no host, and each has a clock. In buf, which it returns. */
char *clock_text(char *buf, size_t size, const struct run *run);

#endif
