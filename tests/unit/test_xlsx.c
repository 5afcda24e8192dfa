/* SPDX-License-Identifier: MIT
 *
 * A table of more rows than a worksheet holds goes on in another one, and a note says so.
 */
#include "test.h"

#include "base/buf.h"
#include "base/err.h"
#include "report/sheet.h"
#include "report/workbooks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef SPECTER_HAVE_XLSX

#define MOST 1048575 /* rows of a worksheet beside its headings */
#define BLOCK 4095   /* MOST is no multiple of it */

static const struct sheet_column columns[] = {{"n", NULL, SHEET_COUNT, 0}};

/* The notes of a table of `rows` rows, all but the first and the last of which are empty. */
static char *written(size_t rows)
{
    char path[] = "/tmp/specter-xlsx-XXXXXX", *notes = NULL;
    size_t size = 0, n = 0;
    struct err e = {0};
    struct xlsx *w;
    struct sheet s;
    FILE *out = open_memstream(&notes, &size);
    close(mkstemp(path));
    CHECK_INT(xlsx_open(&w, path, &e), 0);
    sheet_init(&s, "long", "", SHEET_COLUMNS(columns));
    xlsx_begin(w, "long", &s, 0);
    while (n < rows) {
        s.ncells = 0;
        for (size_t i = 0; i < BLOCK && n < rows; i++, n++)
            sheet_number(&s, n == 0 || n + 1 == rows ? (double)n : NAN);
        xlsx_rows(w, &s);
    }
    xlsx_end(w);
    sheet_release(&s);
    CHECK_INT(xlsx_close(w, out, &e), 0);
    fclose(out);
    CHECK_INT(access(path, R_OK), 0);
    unlink(path);
    return notes;
}

TEST(xlsx_rows_beyond_a_worksheet_go_on_in_another)
{
    char *few = written(BLOCK), *more = written(MOST + 1);
    CHECK_STR(few, "");
    CHECK_HAS(more, ": 'long' goes on in 'long (2)'\n");
    free(few);
    free(more);
}

#else

TEST(xlsx_is_not_built)
{
    struct err e = {0};
    struct xlsx *w;
    CHECK_INT(xlsx_open(&w, "x", &e), -1);
    CHECK_HAS(e.msg, "libxlsxwriter");
}

#endif
