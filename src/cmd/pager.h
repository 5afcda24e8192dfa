/* SPDX-License-Identifier: MIT
 *
 * Text that is longer than the screen goes through a pager, as git's does: $PAGER, else less with
 * -FRX where $LESS is not set. Only where stdout is a terminal that can do more than a typewriter.
 * PAGER=cat and PAGER= mean none.
 *
 *     pager_begin();             what is printed from here on is held back
 *     status = command->run(...);
 *     pager_end();               and now shown
 *
 * Bars and messages on stderr are not held back. A command that ends by exit() shows what it has
 * printed; one that a signal ends does not.
 */
#ifndef SPECTER_CMD_PAGER_H
#define SPECTER_CMD_PAGER_H

#include <stdbool.h>

void pager_begin(void);

/* False: the text could not be written; errno says why. Nothing without pager_begin(). */
bool pager_end(void);

#endif
