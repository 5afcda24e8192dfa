"$SPECTER" analyse traces
