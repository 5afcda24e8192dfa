"$SPECTER" help replay
