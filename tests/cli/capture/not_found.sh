"$SPECTER" capture -o traces -- no-such-program --its-option
