"$SPECTER" help export
