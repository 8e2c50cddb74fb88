-- Commands to this Redis server, and its clock.

local call = redis.call

-- Milliseconds since the epoch.
local function server_now_ms()
  local time = call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
