"$SPECTER" help predict
