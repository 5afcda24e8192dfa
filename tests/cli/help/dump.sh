"$SPECTER" help dump
