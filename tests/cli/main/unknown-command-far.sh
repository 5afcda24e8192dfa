"$SPECTER" xyzzy
