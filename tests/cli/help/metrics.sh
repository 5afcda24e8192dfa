"$SPECTER" help metrics
