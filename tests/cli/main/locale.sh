# Numbers do not depend on the locale, because nothing here ever sets one.
command -v nm >/dev/null || { echo "no nm here"; exit 77; }
nm -D --undefined-only "$SPECTER" >symbols
grep -E '(set|new|use)locale' symbols && exit 1
grep -c -m 1 . symbols # nm has shown something
