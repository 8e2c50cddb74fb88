-- Reads all overrides, and the clock that decides when they end.
--
-- KEYS[1]  the hash of write-overrides.lua
-- RETURNS  now by this server's clock, milliseconds since the epoch; then the field and the value of each override.
--          An error if the hash holds more than gateways ever write. Fields and values that are too long for an override
--          are left out.
--
--- @include "server"
--- @include "override-bounds"

-- The bounds of the reply: its fields and values, and their bytes.
local MAX_ROWS, MAX_BYTES = 20000, 12582912

local key = KEYS[1]
local reply, length, bytes = { server_now_ms() }, 1, 0
local stored = call('HGETALL', key)
for i = 1, #stored, 2 do
  local field, value = stored[i], stored[i + 1]
  if is_override(field, value) then
    reply[length + 1], reply[length + 2] = field, value
    length, bytes = length + 2, bytes + #field + #value
  end
end
if length > 2 * MAX_ROWS or bytes > MAX_BYTES then
  return redis.error_reply('ERR ' .. key .. ' holds more overrides than gateways write: delete it')
end
return reply
