-- Stores or removes overrides, and notifies all gateways. Overrides end by this server's clock, because
-- the clocks of gateways may differ.
--
-- KEYS[1]  hash: one field per override. Its value is the moment when the override ends, in milliseconds since the epoch,
--          a space, and the override's text. A removed override stays until it would have ended, so that a gateway that
--          still remembers it does not take it for lost and restore it. Its text is then a note that begins with `-`,
--          or empty.
-- ARGV[1]  the channel that gateways subscribe to
-- ARGV[2]  how many overrides are kept at most
-- ARGV[3]  1 keeps what is already stored under the same field; 0 replaces it
-- ARGV[4]  the first of the rows, each of three arguments: the field, how long the override lasts in milliseconds (0
--          removes it), its text or the note
-- RETURNS  1; 0 if there was no override to remove; -1 if there are already too many, then this row and those after it
--          are not stored
--
--- @include "server"
--- @include "override-bounds"

-- 32 days. Gateways store no override for longer, so what ends later was written by another program.
local LONGEST_MS = 2764800000

local key, most, keeps_stored = KEYS[1], tonumber(ARGV[2]), ARGV[3] == '1'
local now_ms = server_now_ms()

-- By field: when each stored override ends, and whether it is in force. `count` is the number of those in force.
local until_ms_of, in_force, count, last_ms = {}, {}, 0, 0
local stored = call('HGETALL', key)
for i = 1, #stored, 2 do
  local field, value = stored[i], stored[i + 1]
  local until_ms, text = 0, ''
  if is_override(field, value) then
    until_ms, text = string.match(value, '^(%d+) (.*)$')
    until_ms = tonumber(until_ms) or 0
  end
  if until_ms <= now_ms or until_ms > now_ms + LONGEST_MS then
    call('HDEL', key, field)
  else
    until_ms_of[field], in_force[field] = until_ms, not is_removed(text)
    if in_force[field] then count = count + 1 end
    last_ms = math.max(last_ms, until_ms)
  end
end

local result = 1
for i = 4, #ARGV, 3 do
  local field, lifetime_ms, text = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local until_ms
  if lifetime_ms == 0 then
    if in_force[field] then until_ms = until_ms_of[field] else result = 0 end
  elseif not (keeps_stored and until_ms_of[field]) then
    if not in_force[field] and count >= most then return -1 end
    until_ms = now_ms + lifetime_ms
    if not in_force[field] then count = count + 1 end
  end
  if until_ms then
    call('HSET', key, field, string.format('%.0f %s', until_ms, text))
    until_ms_of[field], in_force[field] = until_ms, not is_removed(text)
    last_ms = math.max(last_ms, until_ms)
  end
end

if last_ms > now_ms then call('PEXPIRE', key, string.format('%.0f', last_ms - now_ms)) end
-- If the account may not publish, the overrides are stored all the same: gateways also read them at intervals.
redis.pcall('PUBLISH', ARGV[1], '')
return result
