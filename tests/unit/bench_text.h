/* SPDX-License-Identifier: MIT
 *
 * Texts that bench_read() reads as a file.
 *
 *     CHECK_INT(read_text("# nccl-tests version ..."), 0);
 *     CHECK_DOUBLE(row_of(0, 0)->time_us, 102.9, 0);
 */
#ifndef SPECTER_TEST_BENCH_TEXT_H
#define SPECTER_TEST_BENCH_TEXT_H

#include "base/err.h"
#include "bench/read.h"
#include "trace_files.h"

#include <math.h>

static struct bench_result result;
static struct err said;

/* Reads a text as a file; the result stands until the next call. */
static int read_text_in(const char *folder, const char *text)
{
    bench_result_release(&result);
    bench_result_init(&result);
    said.msg[0] = '\0';
    write_text(folder, "log", text);
    return bench_read(&result, file_in(folder, "log"), &said);
}

static int read_text(const char *text)
{
    const char *folder = make_folder();
    const int rc = read_text_in(folder, text);
    remove_folder(folder);
    return rc;
}

/* A row that is not there has no time. */
static const struct bench_row *row_of(size_t run, size_t row)
{
    static const struct bench_row none = {.time_us = NAN};
    return run < result.nruns && row < result.runs[run].nrows ? &result.runs[run].rows[row] : &none;
}

#endif
