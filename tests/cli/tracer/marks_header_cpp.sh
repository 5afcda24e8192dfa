# specter/specter.h compiles as C++ with all warnings, and links with nothing.
command -v c++ >/dev/null || { echo "no c++"; exit 77; }
. "$ROOT/tests/cli/tracer/marks_header.bash"
c++ -std=c++11 "${flags[@]}" -Wold-style-cast -o cc use.cc -ldl && ./cc || fail "C++"
