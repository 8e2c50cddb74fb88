-- The moment at which a batch of requests is counted, the same for all of them.
--
-- ARGV[1]  milliseconds since the epoch; -1 reads the server's clock
--
--- @include "server"

local now_ms = tonumber(ARGV[1])
if now_ms == nil then error('ARGV[1] is not a number') end
if now_ms < 0 then now_ms = server_now_ms() end
