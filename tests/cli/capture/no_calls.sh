# Nothing to trace: said, with causes and the next command, quoted for a shell.
"$SPECTER" capture -o traces -- sh -c "echo \"it's done\""
ls -A traces
