-- Reads all notices, and the clock by which they end.
--
-- KEYS[1]  the hash of notice.lua
-- RETURNS  now by the clock of this server, milliseconds since the epoch; then for each notice its field and its value

local clock = redis.call('TIME')
local reply = redis.call('HGETALL', KEYS[1])
table.insert(reply, 1, clock[1] * 1000 + math.floor(clock[2] / 1000))
return reply
