# Results of a job, recorded and not: equal to the last bit on every rank, not-a-number included.
. "$(dirname "$0")/claims.bash"
echo 'a line of the launcher
{"rank": 0, "step_us": [9, 9], "loss": [2.5, NaN], "checksum": "1f"}
{"rank": 1, "step_us": [9, 9], "loss": [2.5, 1.25], "checksum": "2f"}' >plain
ask same plain plain
sed 's/1.25/1.2500001/' plain >loss && ask same plain loss
sed 's/"2f"/"3f"/' plain >weights && ask same plain weights
sed 3d plain >fewer && ask same plain fewer
sed 's/, 1.25//' plain >shorter && ask same plain shorter
: >empty && ask same empty empty
