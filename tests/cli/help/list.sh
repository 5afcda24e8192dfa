"$SPECTER" help
