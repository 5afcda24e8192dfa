"$SPECTER" --version
