# Usage errors, each with status 2.
"$SPECTER" doctor --timeout 0
echo "status $?"
"$SPECTER" doctor --nothing
echo "status $?"
