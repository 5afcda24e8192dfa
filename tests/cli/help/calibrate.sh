"$SPECTER" help calibrate
