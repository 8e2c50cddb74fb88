-- Tells how quotas stand, and takes nothing from them. The parts before this one are those of take.lua.
--
-- KEYS, ARGV  as for take.lua
-- RETURNS     what take.lua returns for a request that something else denied

local reply = { tonumber(ARGV[2]), now_ms }
for i = 1, #KEYS do
  local low, high = string.byte(ARGV[3], 2 * i - 1, 2 * i)
  local row = rows[low - 31 + (high - (high >= 96 and 96 or 32)) * 64]
  row.count_rejected = false
  local _, a, b, c, d, e = row.read(KEYS[i], row)
  local remaining, reset_ms, wait_ms = row.settle(KEYS[i], row, false, a, b, c, d, e)
  reply[#reply + 1] = -1 - remaining
  reply[#reply + 1] = reset_ms
  if remaining < row.cost then reply[#reply + 1] = wait_ms end
end
return reply
