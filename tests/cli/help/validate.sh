"$SPECTER" help validate
