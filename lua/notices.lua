-- Reads all notices, and the clock by which they end.
--
-- KEYS[1]  the hash of notice.lua
-- RETURNS  now by the clock of this server, milliseconds since the epoch; then for each notice its field and its value.
--          An error when there are more than gateways put up.
--
-- Whoever else may write there must not fill the memory of gateways: what notice.lua cannot have put up is left out.

-- As in notice.lua.
local LONGEST_MS, LONGEST_FIELD, LONGEST_VALUE = 2764800000, 512, 4096
-- Those that have a text, and with those that were taken down. All together are a few megabytes.
local MOST, MOST_ROWS = 1000, 20000

local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

local reply, count = { now_ms }, 0
local stored = redis.call('HGETALL', KEYS[1])
for i = 1, #stored, 2 do
  local field, value = stored[i], stored[i + 1]
  local until_text, text = string.match(string.sub(value, 1, LONGEST_VALUE + 1), '^(%d+) (.*)$')
  local until_ms = tonumber(until_text) or 0
  local is_readable = #field <= LONGEST_FIELD and #value <= LONGEST_VALUE
  if is_readable and until_ms > now_ms and until_ms <= now_ms + LONGEST_MS then
    if text ~= '' then count = count + 1 end
    if count > MOST or #reply > MOST_ROWS * 2 then
      return redis.error_reply('ERR ' .. KEYS[1] .. ' holds more notices than gateways put up: delete it')
    end
    reply[#reply + 1] = field
    reply[#reply + 1] = value
  end
end
return reply
