-- Says that a gateway is alive, and who else is.
--
-- KEYS[1]  hash: a field for each gateway, its value when it was last heard of, milliseconds of this server's clock
-- ARGV[1]  the name of this gateway
-- ARGV[2]  after how many milliseconds without a word a gateway is no longer counted
-- RETURNS  the names of those that are alive, in no order: 1000 at most
--
-- Whoever else may write there must not keep gateways from counting: what is no word of a gateway is deleted.

local MOST, LONGEST_NAME = 1000, 64

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local lifetime_ms = tonumber(ARGV[2])

redis.call('HSET', KEYS[1], ARGV[1], now_ms)
redis.call('PEXPIRE', KEYS[1], lifetime_ms)

local alive = { ARGV[1] }
local heard = redis.call('HGETALL', KEYS[1])
for i = 1, #heard, 2 do
  local name, heard_ms = heard[i], tonumber(heard[i + 1])
  -- A clock that was set back leaves words from the future.
  local is_alive = heard_ms and math.abs(now_ms - heard_ms) <= lifetime_ms and #name <= LONGEST_NAME
  if name ~= ARGV[1] then
    if is_alive and #alive < MOST then
      alive[#alive + 1] = name
    else
      redis.call('HDEL', KEYS[1], name)
    end
  end
end
return alive
