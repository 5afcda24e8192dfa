/* SPDX-License-Identifier: MIT
 *
 * Rows of names: equal pairs share one, and many numbers beside one name stay fast.
 */
#include "test.h"

#include "base/idmap.h"

TEST(names_of_equal_pairs)
{
    static const char a[] = "a", b[] = "b";
    struct name_index n = {0};
    CHECK_INT(name_index_add(&n, a, 0), 0);
    CHECK_INT(name_index_add(&n, b, 0), 1);
    CHECK_INT(name_index_add(&n, a, 1), 2);
    CHECK_INT(name_index_add(&n, a, 0), 0);
    CHECK_INT(n.count, 3);
    name_index_release(&n);
}

/* A step of the same name again and again: slots in use must not be one long row, which every
 * search would walk. */
TEST(names_spread_the_numbers_of_one_name)
{
    static const char step[] = "step";
    struct name_index n = {0};
    size_t row = 0, longest = 0;
    for (uint32_t tag = 0; tag < 50000; tag++)
        CHECK_INT(name_index_add(&n, step, tag), tag);
    for (size_t i = 0; i < n.nslots; i++) {
        row = n.slots[i].row != 0 ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    CHECK(longest < 200);
    name_index_release(&n);
}
