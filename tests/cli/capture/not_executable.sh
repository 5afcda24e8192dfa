"$SPECTER" capture -o traces -- .
