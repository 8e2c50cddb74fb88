-- Reads all overrides, and the clock by which they end.
--
-- KEYS[1]  the hash of write-overrides.lua
-- RETURNS  now by the clock of this server, milliseconds since the epoch; then for each override its field and its value.
--          An error when there are more than gateways put up.
--
-- Whoever else may write there must not fill the memory of gateways: what is longer than any override is left out.

-- As in write-overrides.lua.
local LONGEST_FIELD, LONGEST_VALUE = 512, 4096
local MOST_ROWS, MOST_BYTES = 20000, 12582912

local clock = redis.call('TIME')
local reply, n, bytes = { clock[1] * 1000 + math.floor(clock[2] / 1000) }, 1, 0
local stored = redis.call('HGETALL', KEYS[1])
for i = 1, #stored, 2 do
  local field, value = stored[i], stored[i + 1]
  if #field <= LONGEST_FIELD and #value <= LONGEST_VALUE then
    reply[n + 1], reply[n + 2] = field, value
    n, bytes = n + 2, bytes + #field + #value
  end
end
if n > 2 * MOST_ROWS or bytes > MOST_BYTES then
  return redis.error_reply('ERR ' .. KEYS[1] .. ' holds more overrides than gateways put up: delete it')
end
return reply
