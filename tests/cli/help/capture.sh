"$SPECTER" help capture
