/* SPDX-License-Identifier: MIT
 *
 * Everything is built hidden; what a stand-in exports says so.
 */
#ifndef EMU_EXPORT_H
#define EMU_EXPORT_H

#define EMU_API __attribute__((visibility("default")))

#endif
