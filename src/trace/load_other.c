/* SPDX-License-Identifier: MIT
 *
 * Names files that lie beside traces, or in their place, and are none: by the words and the first
 * bytes of their heads. To add one: a row of a table here, a line of tests/cli/analyze/no_trace.sh.
 */
#include "trace/load.h"
#include "trace/reader.h"

#include <string.h>
#include <strings.h>

/* Returns whether a line names the columns of nccl-tests ("#  ...  algbw   busbw #wrong") or its
 * options ("# nThread 1 nGpus 1 minBytes 8 ..."), behind whatever a launcher puts before it. */
static bool is_nccl_tests(const char *head, size_t len)
{
    static const char first[] = "algbw", second[] = "busbw", options[] = "# nThread ";
    const char *const end = head + len, *p, *next;
    for (const char *line = head; line < end; line = next) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next != NULL ? next + 1 : end;
        p = memchr(line, '#', (size_t)(next - line));
        if (p == NULL)
            continue;
        if ((size_t)(next - p) >= sizeof options && memcmp(p, options, sizeof options - 1) == 0)
            return true;
        p = memmem(p, (size_t)(next - p), first, sizeof first - 1);
        p = p != NULL ? p + sizeof first - 1 : next;
        while (p < next && *p == ' ')
            p++;
        if ((size_t)(next - p) >= sizeof second && memcmp(p, second, sizeof second - 1) == 0)
            return true;
    }
    return false;
}

const char *load_what_else(const char *label, const char *head, size_t len)
{
    static const char rocprof[] =
        "of rocprofv3, which is not read: PyTorch's profiler records the same";
    static const struct {
        const char *word, *what;
    } others[] = {
        {"Total Time (ns)",
         "a summary by nsys stats, without times: give the report (.nsys-rep) or its "
         "SQLite export"},
        {"CorrId", "a table by nsys stats: give the report (.nsys-rep) or its SQLite export"},
        {"  Self CPU %  ",
         "a table of PyTorch's profiler, without times: give what export_chrome_trace() writes"},
        {"Comm. Op            Message Size",
         LOAD_LOOKS_LIKE "DeepSpeed's communication log: it holds only sums of host times"},
        {"BW average[", LOAD_LOOKS_LIKE "perftest output: it measures one link, not a job"},
        {"] NCCL INFO ", LOAD_LOOKS_LIKE "NCCL's own log, which holds no times"},
        {"\"KERNEL_DISPATCH\"", rocprof},
        {"\"rocprofiler-sdk-tool\"", rocprof},
    };
    static const struct {
        const char *begin, *what;
    } begins[] = {
        {"version https://git-lfs.github.com/",
         "a pointer of Git LFS, not the file itself: git lfs pull"},
        {"<!DOCTYPE html", "a web page: download the file itself"},
        {"<html", "a web page: download the file itself"},
    };
    const char *suffix = strstr(label, ".xplane.pb"), *zip = strstr(label, ".zip");
    if (is_own_export(head, len))
        return "drawn by specter, not recorded: give the traces that it was made of";
    if (suffix != NULL && strcmp(suffix, ".xplane.pb") == 0)
        return "XLA's own form: give the Chrome trace that it writes beside it (.trace.json.gz)";
    if (zip != NULL && strcmp(zip, ".zip") == 0)
        return "a zip archive, which is not read: unpack it";
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        const size_t n = strlen(begins[i].begin);
        if (len >= n && strncasecmp(head, begins[i].begin, n) == 0)
            return begins[i].what;
    }
    if (is_nccl_tests(head, len))
        return LOAD_LOOKS_LIKE "output of nccl-tests, which `specter bench report` reads";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (head_has(head, len, others[i].word))
            return others[i].what;
    }
    return NULL;
}
