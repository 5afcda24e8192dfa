"$SPECTER" help analyze
