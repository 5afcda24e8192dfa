/* SPDX-License-Identifier: MIT */
#include "report/validate_report.h"

#include <stdlib.h>
#include <string.h>

/* Where a line of the tables ended up: one of both is NULL. */
struct table_line {
    const struct scored_row *scored;
    const struct measured_skip *skip;
    size_t file; /* its place among the files */
    size_t line;
};

static void put_text(const char *text, FILE *out)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void put_row(const struct scored_row *s, FILE *out)
{
    const struct measured_row *row = s->row;
    fprintf(out, "scored,,%s,", measured_kind_name(row->kind));
    put_text(row->source, out);
    fprintf(out, ",%s,", row->gpu->name);
    if (row->kind == MEASURED_GEMM)
        fprintf(out, ",,,,,%s,%llu,%llu,%llu,%llu", specter_dtype_name(row->dtype),
                (unsigned long long)row->m, (unsigned long long)row->n, (unsigned long long)row->k,
                (unsigned long long)row->batch);
    else
        fprintf(out, "%s,%s,%.0f,%d,%d,%s,,,,", row->net->name, specter_comm_op_name(row->op),
                row->bytes, row->where.ranks, row->where.nodes,
                row->dtype != SPECTER_DTYPE_UNKNOWN ? specter_dtype_name(row->dtype) : "");
    fprintf(out, ",%.10g,%.10g,%.6g,%s,%s,%d,%d\n", row->time_us, s->predicted.us, s->error,
            s->predicted.algo, s->predicted.proto, s->predicted.channels, s->outside);
}

static void put_skip(const struct measured_skip *skip, FILE *out)
{
    fprintf(out, "%s,", skip->damaged ? "damaged" : "skipped");
    put_text(skip->reason, out);
    fputs(",,,,,,,,,,,,,,,,,,,,\n", out);
}

static size_t place_of(const struct measured *m, const char *file)
{
    size_t i = 0;
    while (i < m->nfiles && m->files[i].path != file)
        i++;
    return i;
}

static int in_order(const void *a, const void *b)
{
    const struct table_line *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

void validate_rows(const struct validation *v, FILE *out)
{
    const struct measured *m = v->measured;
    struct table_line *entries = NULL;
    size_t cap = 0, n = 0;
    ARRAY_GROW(entries, cap, v->score->nrows + m->nskips + 1);
    for (size_t i = 0; i < v->score->nrows; i++) {
        const struct scored_row *s = &v->score->rows[i];
        entries[n++] = (struct table_line){s, NULL, place_of(m, s->row->file), s->row->line};
    }
    for (size_t i = 0; i < m->nskips; i++) {
        const struct measured_skip *s = &m->skips[i];
        entries[n++] = (struct table_line){NULL, s, place_of(m, s->file), s->line};
    }
    qsort(entries, n, sizeof *entries, in_order);
    fputs("file,line,status,reason,kind,source_id,gpu_profile,network_profile,op,bytes,ranks,nodes,"
          "dtype,m,n,k,batch,measured_us,predicted_us,error,algo,proto,channels,outside_fit\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const char *file =
            entries[i].skip != NULL ? entries[i].skip->file : entries[i].scored->row->file;
        put_text(file, out);
        fprintf(out, ",%zu,", entries[i].line);
        if (entries[i].skip != NULL)
            put_skip(entries[i].skip, out);
        else
            put_row(entries[i].scored, out);
    }
    free(entries);
}
