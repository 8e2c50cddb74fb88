-- Reports that a gateway is alive, and lists all gateways that are.
--
-- KEYS[1]  hash: one field per gateway, named after it; its value is when the gateway last reported, in milliseconds
--          since the epoch
-- ARGV[1]  the name of this gateway
-- ARGV[2]  how long a gateway counts as alive after a report, milliseconds
-- RETURNS  the names of the gateways that are alive: this one, then the others in no order; 1000 at most
--
-- Other programs may write to the hash too, and must not keep gateways from counting: what no gateway can have written is
-- deleted.
--
--- @include "server"

local MAX_GATEWAYS, LONGEST_NAME = 1000, 64

local key, own_name, lifetime_ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local now_ms = server_now_ms()

call('HSET', key, own_name, now_ms)
call('PEXPIRE', key, lifetime_ms)

local alive = { own_name }
local reports = call('HGETALL', key)
for i = 1, #reports, 2 do
  local name, reported_ms = reports[i], tonumber(reports[i + 1])
  -- If the clock was set back, reports lie in the future.
  local is_alive = reported_ms and math.abs(now_ms - reported_ms) <= lifetime_ms and #name <= LONGEST_NAME
  if name ~= own_name then
    if is_alive and #alive < MAX_GATEWAYS then
      alive[#alive + 1] = name
    else
      call('HDEL', key, name)
    end
  end
end
return alive
