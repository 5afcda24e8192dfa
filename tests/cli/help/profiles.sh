"$SPECTER" help profiles
