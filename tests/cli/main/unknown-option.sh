"$SPECTER" capture --snyc -- true
