# Refused before the program starts, one line each.
touch file
"$SPECTER" capture -o file -- touch started
echo "status $?"
"$SPECTER" capture -o file/below -- touch started
echo "status $?"
"$SPECTER" capture -o /proc/traces -- touch started
echo "status $?"
"$SPECTER" capture -o '' -- touch started
echo "status $?"
SPECTER_LIB=/no/such/library.so "$SPECTER" capture -o traces -- touch started
echo "status $?"
ls
