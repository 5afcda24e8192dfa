/* SPDX-License-Identifier: MIT
 *
 * Fitted classes as the text of profiles/fitted.def.
 */
#include "calib/fit_classes.h"

#include <math.h>
#include <string.h>

/* Whole numbers as such, others with as many digits as a fit is good for. */
static void write_number(FILE *out, const char *name, double value)
{
    fprintf(out, ", .%s = %.*g", name, value == floor(value) && value < 1e15 ? 15 : 4, value);
}

static void write_range(FILE *out, const struct fit_range *r)
{
    fprintf(out, "RANGE(.rows = %.0f", r->rows);
    if (r->rows > 0) {
        write_number(out, "median_ape", r->median_ape);
        write_number(out, "smallest", r->smallest);
        write_number(out, "largest", r->largest);
    }
    if (r->ranks > 0) {
        write_number(out, "ranks", r->ranks);
        write_number(out, "nodes", r->nodes);
    }
    fputc(')', out);
}

static void write_class(FILE *out, const struct fitted_class *c)
{
    static const char *const macros[PARAM_GROUPS] = {"GEMM", "NODE", "NET"};
    const struct param_table *t = &param_tables[c->group];
    bool any = strcmp(c->key, "any") == 0, none = true;
    fprintf(out, "\n%s(\"%s\", ", macros[c->group], c->key);
    write_range(out, &c->range);
    for (size_t k = 0; k < t->count; k++) {
        if (!any && c->fits[k].verdict == FIT_HELD)
            continue;
        fprintf(out, ",\n    .%s = %.4g", t->params[k].name, c->values[k]);
        none = false;
    }
    if (none) /* C11 wants one */
        fprintf(out, ", .%s = 0", t->params[0].name);
    fputs(")\n", out);
}

static bool has_class(const struct fitted_classes *c, enum param_group group, const char *key)
{
    for (size_t i = 0; i < c->nrows; i++) {
        if (c->rows[i].group == group && strcmp(c->rows[i].key, key) == 0)
            return true;
    }
    return false;
}

/* Estimated classes without measurements stay as they are. */
static void write_estimates(FILE *out, const struct fitted_classes *c, enum param_group group)
{
    const struct param_table *t = &param_tables[group];
    size_t count;
    const struct param_class *known = params_classes(group, &count);
    for (size_t i = 0; i < count; i++) {
        struct fitted_class row = {.group = group};
        if (known[i].range.rows > 0 || has_class(c, group, known[i].key))
            continue;
        snprintf(row.key, sizeof row.key, "%s", known[i].key);
        for (size_t k = 0; k < t->count; k++) {
            row.values[k] = param_value(known[i].values, &t->params[k]);
            row.fits[k].verdict = row.values[k] > 0 ? FIT_DETERMINED : FIT_HELD;
        }
        write_class(out, &row);
    }
}

void classes_write(const struct fitted_classes *c, FILE *out)
{
    fputs("/* SPDX-License-Identifier: MIT\n"
          " *\n"
          " * Fitted parameters: GROUP(class, range, values). Written by `make fit` "
          "(docs/calibrate.md).\n"
          " * What a parameter means, its unit and bounds, what a range says: src/model/params.h.\n"
          " * RANGE(.rows = 0): not fitted. A value that is 0 or not listed is the next wider "
          "class's.\n"
          " */\n"
          "/* clang-format off */\n",
          out);
    for (size_t i = 0; i < c->nrows; i++)
        write_class(out, &c->rows[i]);
    for (enum param_group g = 0; g < PARAM_GROUPS; g++)
        write_estimates(out, c, g);
}
