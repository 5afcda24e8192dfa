"$SPECTER" help watch
