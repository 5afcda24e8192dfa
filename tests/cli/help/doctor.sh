"$SPECTER" help doctor
