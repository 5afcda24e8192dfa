"$SPECTER" help bench
