# A receive whose send was not called; the dumps' own numbers of messages do not say so, as they
# count all messages of the rank.
. "$ROOT/tests/cli/flight/flight.bash"
begin 0 3
message 'send 0->2' 256 completed
message 'send 0->1' 512 completed
finish
begin 1 3
message 'recv 1<-0' 512 completed
message 'recv 1<-0' 512 started
finish
begin 2 3
message 'recv 2<-0' 256 completed
finish
hang
