# Two ranks that each wait for a message of the other one.
. "$ROOT/tests/cli/flight/flight.bash"
begin 0 2
message 'recv 0<-1' 256 started
message 'send 0->1' 256 scheduled
finish
begin 1 2
message 'recv 1<-0' 256 started
message 'send 1->0' 256 scheduled
finish
hang
