-- Says that a gateway is alive, and who else is.
--
-- KEYS[1]  hash: a field for each gateway, its value when it was last heard of, milliseconds of this server's clock
-- ARGV[1]  the name of this gateway
-- ARGV[2]  after how many milliseconds without a word a gateway is no longer counted
-- RETURNS  the names of those that are alive, in no order

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local lifetime_ms = tonumber(ARGV[2])

redis.call('HSET', KEYS[1], ARGV[1], now_ms)
redis.call('PEXPIRE', KEYS[1], lifetime_ms)

local alive = {}
local heard = redis.call('HGETALL', KEYS[1])
for i = 1, #heard, 2 do
  -- A clock that was set back leaves words from the future.
  local silence_ms = math.abs(now_ms - heard[i + 1])
  if silence_ms > lifetime_ms then
    redis.call('HDEL', KEYS[1], heard[i])
  else
    alive[#alive + 1] = heard[i]
  end
end
return alive
