/* SPDX-License-Identifier: MIT
 *
 * Errors. The first function that knows what is wrong fills a struct err and returns -1; callers
 * pass both on. Library code never prints and never exits; a command prints `specter: <message>`
 * once and ends with its code.
 *
 *     if (fd < 0)
 *         return err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
 *
 * Messages: lower case, no full stop, the problem first, the subject in quotes, the observed cause.
 */
#ifndef SPECTER_BASE_ERR_H
#define SPECTER_BASE_ERR_H

/* Each code is the exit status that a command returns for it. */
enum err_code {
    ERR_NONE = 0,
    ERR_NO = 1,      /* the answer is no: a condition of --fail-on holds */
    ERR_USAGE = 2,   /* the command line */
    ERR_INPUT = 3,   /* bad or missing input, or output that cannot be written */
    ERR_PARTIAL = 4, /* some input was unusable: the result stands, the loss is stated */
};

struct err {
    enum err_code code;
    char msg[1024]; /* always terminated; cut when longer */
};

/* Fills e (may be NULL) and returns -1, so that it can be returned. Control bytes, of names in
 * files or of other libraries' messages, become '?': a message is safe for a terminal. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "text: " before the message that e already holds. Returns -1. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Out of memory in the CLI, or a broken invariant of ours: one line on stderr, exit status 3. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
