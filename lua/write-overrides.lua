-- Puts up overrides that all gateways read, or takes them down, and tells them. When one ends is by the clock of this
-- server: those of gateways may differ.
--
-- KEYS[1]  hash: a field for each override; its value is until when, in milliseconds since the epoch, a space, and the
--          text. One that was taken down stays without a text until it would have ended, so that who still knows it
--          can tell that from a server that has lost it.
-- ARGV[1]  the channel on which gateways are told
-- ARGV[2]  overrides that are kept at most
-- ARGV[3]  1 leaves alone what there is about the same; 0 replaces it
-- ARGV[4]  then rows of three: the field, how long it holds in milliseconds, its text; 0 takes it down
-- RETURNS  1; 0 when there was nothing to take down; -1 when there are too many to put up another

-- 32 days: none is put up for longer. What seems to be, or is longer than any text of a gateway, was not put up here.
local LONGEST_MS, LONGEST_FIELD, LONGEST_VALUE = 2764800000, 512, 4096

local key, most, is_careful = KEYS[1], tonumber(ARGV[2]), ARGV[3] == '1'
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- Until when each is there, and of those that have a text, how many.
local until_ms_of, has_text, count, last_ms = {}, {}, 0, 0
local stored = redis.call('HGETALL', key)
for i = 1, #stored, 2 do
  local field, value = stored[i], stored[i + 1]
  local until_text, text = string.match(string.sub(value, 1, LONGEST_VALUE + 1), '^(%d+) (.*)$')
  local until_ms = tonumber(until_text) or 0
  local is_readable = #field <= LONGEST_FIELD and #value <= LONGEST_VALUE
  if not is_readable or until_ms <= now_ms or until_ms > now_ms + LONGEST_MS then
    redis.call('HDEL', key, field)
  else
    until_ms_of[field], has_text[field] = until_ms, text ~= ''
    if text ~= '' then count = count + 1 end
    last_ms = math.max(last_ms, until_ms)
  end
end

local result = 1
for i = 4, #ARGV, 3 do
  local field, lifetime_ms, text = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local until_ms
  if lifetime_ms == 0 then
    if has_text[field] then until_ms, text = until_ms_of[field], '' else result = 0 end
  elseif not (is_careful and until_ms_of[field]) then
    if not has_text[field] and count >= most then return -1 end
    until_ms = now_ms + lifetime_ms
    if not has_text[field] then count = count + 1 end
  end
  if until_ms then
    redis.call('HSET', key, field, string.format('%.0f %s', until_ms, text))
    until_ms_of[field], has_text[field] = until_ms, text ~= ''
    last_ms = math.max(last_ms, until_ms)
  end
end

if last_ms > now_ms then redis.call('PEXPIRE', key, string.format('%.0f', last_ms - now_ms)) end
-- An account that may not tell them has put it up all the same: they look now and then.
redis.pcall('PUBLISH', ARGV[1], '')
return result
