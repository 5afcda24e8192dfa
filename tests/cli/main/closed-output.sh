"$SPECTER" help >&-
