"$SPECTER" help sweep
