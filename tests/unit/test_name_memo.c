/* SPDX-License-Identifier: MIT
 *
 * The class that is remembered is the class.
 */
#include "test.h"

#include "base/kernel_class.h"

#include <stdio.h>
#include <string.h>

/* Far more names than are remembered, in turn, and twice each. */
TEST(name_memo_is_the_class)
{
    static const char *const parts[] = {"ampere_sgemm_128x64", "flash_fwd_kernel", "softmax_warp",
                                        "vectorized_elementwise", "something_else"};
    char name[512];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4000; i++) {
            snprintf(name, sizeof name, "%s_%d", parts[i % 5], i / 5);
            CHECK_INT(kernel_class(name), specter_kernel_class_of(name));
            CHECK_INT(kernel_class(name), specter_kernel_class_of(name));
        }
    }
    memset(name, 'x', sizeof name - 1);
    memcpy(name + 300, "gemm", 5);
    CHECK_INT(kernel_class(name), SPECTER_KERNEL_GEMM);
    CHECK_INT(kernel_class(""), specter_kernel_class_of(""));
}

static unsigned asked;

static uint8_t first_letter(const char *name)
{
    asked++;
    return (uint8_t)name[0];
}

TEST(name_memo_asks_once)
{
    static struct name_memo memo;
    asked = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(name_memo_get(&memo, "HtoD", first_letter), 'H');
        CHECK_INT(name_memo_get(&memo, "DtoH", first_letter), 'D');
    }
    CHECK_INT(asked, 2);
}
