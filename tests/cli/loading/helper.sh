# Loading patterns: Objects that do not name the library they call: it is in the scope of the plugin that brought them.
exec bash "$ROOT/tests/loading/run.bash" -1 '^helper\.'
