-- The sliding window log that most projects write: a ZSET with one member per request, scored by its time.
--
-- KEYS[1]  the client's log
-- ARGV[1]  limit in requests
-- ARGV[2]  window in milliseconds
-- ARGV[3]  now in milliseconds since the epoch, for tests; without it the server's clock is read
-- RETURNS  1 if the request was admitted, else 0; requests remaining; milliseconds until the quota is full again;
--          milliseconds until a request would be admitted; now in milliseconds since the epoch

local key = KEYS[1]
local limit = tonumber(ARGV[1])
local window_ms = tonumber(ARGV[2])

local time = redis.call('TIME')
local now_ms = tonumber(ARGV[3]) or tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

redis.call('ZREMRANGEBYSCORE', key, '-inf', now_ms - window_ms)
local count = redis.call('ZCARD', key)
if count < limit then
  -- Two requests may come in one microsecond; the count tells them apart.
  local member = time[1] .. string.format('%06d', time[2]) .. ':' .. count
  redis.call('ZADD', key, now_ms, member)
  redis.call('PEXPIRE', key, window_ms)
  return { 1, limit - count - 1, window_ms, 0, now_ms }
end
local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
return { 0, 0, newest[2] + window_ms - now_ms, oldest[2] + window_ms - now_ms, now_ms }
