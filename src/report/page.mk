# SPDX-License-Identifier: MIT
# Style and script of pages (src/report/page.css, page.js) as lists of C strings. Lines that are comments and
# indentation stay out of the page.

PAGE_TEXT := $(B)/src/report/page_style.c $(B)/src/report/page_script.c
LIB_OBJ   += $(PAGE_TEXT:.c=.o)

page_lines = { echo '/* Made from $< */'; echo 'const char *const $(@F:.c=)[] = {'; \
    sed -e 's/^ *//' -e '/^\/\/ *$$/d' -e '/^\/\/ /d' -e '/^\/\*.*\*\/$$/d' -e '/^$$/d' -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n",/' $<; \
    echo '0};'; }

$(B)/src/report/page_style.c: src/report/page.css src/report/page.mk
	@mkdir -p $(@D)
	$(Q)$(page_lines) >$@
$(B)/src/report/page_script.c: src/report/page.js src/report/page.mk
	@mkdir -p $(@D)
	$(Q)$(page_lines) >$@
$(PAGE_TEXT:.c=.o): %.o: %.c $(B)/flags
	@echo "  CC      $<"
	$(Q)$(CC) $(OPTIONS) -fPIE $(CPPFLAGS) -c -o $@ $<
