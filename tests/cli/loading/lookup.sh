# Loading patterns: dlsym() and dlvsym(), by whom and with which handle.
exec bash "$ROOT/tests/loading/run.bash" -1 '^lookup\.(global|program_links|in_turn|next|not_found|others|passed|thin)\.'
