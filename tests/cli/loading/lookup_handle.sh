# Loading patterns: dlsym() and dlvsym() with a library's handle, and in a version.
exec bash "$ROOT/tests/loading/run.bash" -1 '^lookup\.(handle|plugin_handle|version|version_next)\.'
