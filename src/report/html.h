/* SPDX-License-Identifier: MIT
 *
 * What all pages have in common: a page that needs nothing else (no network: its policy forbids
 * it), one style for light, dark, phone and print (page.css), and text that comes from outside.
 * Pages with a script, tables and a timeline: page.h. Charts: plot.h.
 *
 *     html_begin(&b, "specter replay");
 *     buf_puts(&b, "<h1>");
 *     html_text(&b, run->source);
 *     ...
 *     html_end(&b);
 *
 * Colours are classes: k0 compute, k1 work that was only counted, k2 communication, k3 copies,
 * k4 waiting, k7 idle; k5, k6 and k8 are free.
 */
#ifndef SPECTER_REPORT_HTML_H
#define SPECTER_REPORT_HTML_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Up to </head>; script_hash: SHA-256 of the one script that may run, in base64; NULL: none may. */
void html_head(struct buf *b, const char *title, const char *script_hash);

void html_begin(struct buf *b, const char *title); /* up to <body>; a page without a script */
void html_end(struct buf *b);

/* page.css and page.js, line by line; the last is NULL. Made by page.mk. */
extern const char *const page_style[], *const page_script[];

/* Text as text, also within quotes: & < > " ' escaped, what is no UTF-8 replaced. */
void html_text(struct buf *b, const char *text);

void html_fact(struct buf *b, const char *what, const char *text); /* in <dl>; NULL: nothing */
void html_item(struct buf *b, const char *text);                   /* in <ul> or <ol> */
void html_key(struct buf *b, int colour, const char *text);        /* in <div class=keys> */

#endif
