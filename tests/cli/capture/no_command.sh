"$SPECTER" capture --sync
