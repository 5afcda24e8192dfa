/* SPDX-License-Identifier: MIT
 *
 * Conditions on named numbers, for `--fail-on`: `exposed_comm>0.3`, or several with commas between
 * them, of which one is enough.
 *
 *     NAME >|>=|<|<= NUMBER[%]
 *
 * Where the table knows changes, a percentage with a sign is a condition on the change:
 * `step_ms>+5%` holds where the number grew by more than 5 % and by more than its noise.
 *
 * The caller describes its numbers by a table: their names and kinds, and functions that give their
 * values.
 */
#ifndef SPECTER_BASE_CONDITION_H
#define SPECTER_BASE_CONDITION_H

#include <stddef.h>

struct err;

enum condition_kind {
    CONDITION_SHARE, /* may be written as a percentage */
    CONDITION_COUNT,
    CONDITION_TIME, /* in the unit that its name ends in */
};

struct condition_name {
    const char *name;
    enum condition_kind kind;
};

/* test / base - 1, and its interval; low NAN: the noise is not known. */
struct condition_change {
    double change, low, high;
    int level; /* of the interval, in per cent */
};

struct condition_table {
    const struct condition_name *names;
    size_t n;
    size_t nchanges;     /* so many of them, from the first on, have a change */
    const char *example; /* a condition, for messages */
    const char *holder;  /* what holds the numbers: "trace" */

    /* The value of names[i] in `of`; NAN with *lacks set to what `of` lacks for it. */
    double (*value)(const void *of, size_t i, const char **lacks);

    /* The same of the change of names[i], i below nchanges; .change NAN as above.
     * NULL where nchanges is 0. */
    struct condition_change (*change)(const void *of, size_t i, const char **lacks);
};

/* Checks the form alone, so that a wrong expression is refused before anything is read. 0, or -1
 * with e filled (ERR_USAGE). */
int conditions_check(const struct condition_table *t, const char *expr, struct err *e);

/* 0: no condition holds. -1 with e filled: ERR_NO, the first condition that holds, with its value;
 * ERR_INPUT, none holds, and one cannot be judged; ERR_USAGE as above. */
int conditions_apply(const struct condition_table *t, const char *expr, const void *of,
                     struct err *e);

#endif
