# SPDX-License-Identifier: MIT
# Man pages and completions come from the option rows: every option that help shows is in all of them.
mkdir man
"$SPECTER" help --man man
ls man
for shell in bash zsh fish; do
    "$SPECTER" help --completion $shell >$shell
done
for page in man/specter-*.1; do
    name=${page##*/specter-} name=${name%.1}
    kinds=$("$SPECTER" help "$name" | sed -n "s/^ *\(usage:\|or:\) specter $name \([a-z0-9]*\) -.*/\2/p" | sort -u)
    for kind in '' $([[ $name != bench && $name != predict ]] || echo $kinds); do
        for option in $("$SPECTER" help "$name" $kind | sed -n 's/^ *\(-[a-z], \)\?--\([a-z0-9-]*\).*/\2/p' | sort -u); do
            grep -q -- "\\\\-\\\\-${option//-/\\\\-}\\\\fR" "$page" || echo "$name $kind: no --$option in $page"
            for shell in bash zsh fish; do
                [[ $option == help ]] || grep -q -- "-l $option \|--$option[ \[']" $shell || echo "$name $kind: no --$option in $shell"
            done
        done
    done
done
bash -n bash
"$SPECTER" help --man
"$SPECTER" help --completion tcsh
"$SPECTER" help --man /dev/null/x
# The words that bash offers.
. ./bash
offers() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _specter
    echo "$*: ${COMPREPLY[*]}"
}
offers specter an
offers specter analyze --ta
offers specter replay --gpu h100
offers specter bench p
offers specter bench p2p --si
offers specter help sw
