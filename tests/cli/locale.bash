# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A locale that writes 1,5 for 1.5, made here where the machine has none. Sourced by tests.

# Skips the test where no such locale can be had. Leaves its name in COMMA_LOCALE, and LOCPATH set
# where it was made in the current folder.
need_decimal_comma() {
    for COMMA_LOCALE in $(locale -a 2>/dev/null | grep -iE '^(de|fr|nl|pl)_') ./comma; do
        if [[ $COMMA_LOCALE == ./comma ]]; then
            localedef -i de_DE -f UTF-8 ./comma >comma.log 2>&1
            COMMA_LOCALE=comma
            export LOCPATH=$PWD
        fi
        # bash asks for the locale, as a program would that calls setlocale()
        [[ $(LC_ALL=$COMMA_LOCALE bash -c 'printf %.1f 1,5' 2>/dev/null) != 1,5 ]] || return 0
    done
    echo "no locale with a decimal comma is installed, and localedef makes none"
    exit 77
}
