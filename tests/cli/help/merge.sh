"$SPECTER" help merge
