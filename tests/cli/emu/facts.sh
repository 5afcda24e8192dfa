# The stand-ins answer every question of tests/gpu/facts as known.tsv says.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$BUILD/tests/gpu/facts" >answers.tsv || exit 1
grep -v '^#' "$ROOT/tests/gpu/facts/known.tsv" | cut -f1,2 >known.tsv
diff known.tsv answers.tsv && echo "$(wc -l <answers.tsv) facts"
