"$SPECTER" help replya
