"$SPECTER" help compare
