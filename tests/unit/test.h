/* SPDX-License-Identifier: MIT
 *
 * The smallest test harness that tells what went wrong: each CHECK prints both values.
 *
 *     TEST(heap_is_stable)
 *     {
 *         CHECK_INT(pop(&h), 3);
 *     }
 *
 * Every TEST in tests/unit/ and tests/laws/ registers itself; main() in test.c runs them all, in
 * one process a core, and prints one line a test (TAP) with `ok` or `not ok`. SKIP("reason") ends a
 * test as skipped. A test that ends its process has failed, and the others go on.
 */
#ifndef SPECTER_TEST_H
#define SPECTER_TEST_H

#include <stdbool.h>
#include <stdint.h>

struct test {
    const char *name, *file;
    void (*run)(void);
    struct test *next;
};

void test_register(struct test *t);
void test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void test_skip(const char *reason);

#define TEST(_name)                                                              \
    static void test_##_name(void);                                              \
    static struct test test_entry_##_name = {#_name, __FILE__, test_##_name, 0}; \
    __attribute__((constructor)) static void test_add_##_name(void)              \
    {                                                                            \
        test_register(&test_entry_##_name);                                      \
    }                                                                            \
    static void test_##_name(void)

#define SKIP(_reason)       \
    do {                    \
        test_skip(_reason); \
        return;             \
    } while (0)

#define CHECK(_cond)                                     \
    do {                                                 \
        if (!(_cond))                                    \
            test_fail(__FILE__, __LINE__, "%s", #_cond); \
    } while (0)

void test_check_int(const char *file, int line, const char *what, int64_t got, int64_t want);
void test_check_double(const char *file, int line, const char *what, double got, double want,
                       double relative);
void test_check_str(const char *file, int line, const char *what, const char *got,
                    const char *want);
void test_check_has(const char *file, int line, const char *what, const char *got,
                    const char *part);

#define CHECK_INT(_got, _want) test_check_int(__FILE__, __LINE__, #_got, (_got), (_want))
#define CHECK_STR(_got, _want) test_check_str(__FILE__, __LINE__, #_got, (_got), (_want))
#define CHECK_HAS(_got, _part) test_check_has(__FILE__, __LINE__, #_got, (_got), (_part))
/* relative: allowed |got - want| / |want|; absolute when want is 0 */
#define CHECK_DOUBLE(_got, _want, _relative) \
    test_check_double(__FILE__, __LINE__, #_got, (_got), (_want), (_relative))
/* In a table: the row is named instead of the expression. */
#define CHECK_INT_OF(_row, _got, _want) test_check_int(__FILE__, __LINE__, (_row), (_got), (_want))
#define CHECK_STR_OF(_row, _got, _want) test_check_str(__FILE__, __LINE__, (_row), (_got), (_want))
#define CHECK_DOUBLE_OF(_row, _got, _want, _relative) \
    test_check_double(__FILE__, __LINE__, (_row), (_got), (_want), (_relative))

/* Path of ../shared/... beside the repository, or NULL when it is not there. */
const char *test_shared(const char *path);

/* Path of a fixture in tests/data. */
const char *test_data(const char *name);

#endif
