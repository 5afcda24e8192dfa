mkdir empty
"$SPECTER" dump empty
echo "status $?"
ls -A empty
"$SPECTER" dump nowhere
echo "status $?"
"$SPECTER" dump a b
