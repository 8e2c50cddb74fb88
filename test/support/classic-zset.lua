-- The sliding-window log as it is mostly written: a ZSET with a unique member for every request. Tests and benchmarks
-- hold the gateway's own script against it.
--
-- KEYS[1]  the client's set
-- ARGV[1]  now, milliseconds since the epoch; -1 reads the server's clock
-- ARGV[2]  limit in requests
-- ARGV[3]  window in milliseconds
-- ARGV[4]  a member that no other request has
-- RETURNS  1 if the request was admitted, else 0, and the requests that count

local now_ms = tonumber(ARGV[1])
if now_ms < 0 then
  local time = redis.call('TIME')
  now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local limit, window_ms = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms - window_ms)
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then return { 0, count } end
redis.call('ZADD', KEYS[1], now_ms, ARGV[4])
redis.call('PEXPIRE', KEYS[1], window_ms)
return { 1, count + 1 }
