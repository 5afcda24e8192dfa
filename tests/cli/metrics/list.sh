"$SPECTER" metrics --list-metrics
