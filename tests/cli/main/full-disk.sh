"$SPECTER" help >/dev/full
