-- What all parts of the script stand on. `now_ms`: milliseconds since the epoch, one moment for the whole batch.

local call = redis.call

local now_ms = tonumber(ARGV[1])
if now_ms == nil then error('ARGV[1] is not a number') end
if now_ms < 0 then
  local time = call('TIME')
  now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
