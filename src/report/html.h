/* SPDX-License-Identifier: MIT
 *
 * What all pages have in common: a page that needs nothing else (no network, no script: its policy
 * forbids both), one style for light, dark, phone and print, and text that comes from outside.
 *
 *     html_begin(&b, "specter replay");
 *     buf_puts(&b, "<h1>");
 *     html_text(&b, run->source);
 *     ...
 *     html_end(&b);
 *
 * Colours are classes: k0 compute, k1 work that was only counted, k2 communication, k3 copies,
 * k4 to k6 free, k7 nothing.
 */
#ifndef SPECTER_REPORT_HTML_H
#define SPECTER_REPORT_HTML_H

#include "base/buf.h"

extern const char *const html_style[]; /* in pieces; ends with NULL */

void html_begin(struct buf *b, const char *title); /* up to <body>; the title is not escaped */
void html_end(struct buf *b);

/* Text as text, also within quotes: & < > " ' escaped, what is no UTF-8 replaced. */
void html_text(struct buf *b, const char *text);

void html_fact(struct buf *b, const char *what, const char *text); /* in <dl>; NULL: nothing */
void html_item(struct buf *b, const char *text);                   /* in <ul> or <ol> */
void html_key(struct buf *b, int colour, const char *text);        /* in <div class=keys> */

/* Where an axis may end that holds `value`: the next of 1, 2, 2.5, 4, 5, 8 x 10^n. */
double html_round_up(double value);

#endif
