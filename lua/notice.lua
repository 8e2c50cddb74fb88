-- Puts up a notice that all gateways read, or takes it down, and tells them.
--
-- KEYS[1]  hash: a field for each notice; its value is until when, in milliseconds since the epoch, a space, and the text
-- ARGV[1]  the channel on which gateways are told
-- ARGV[2]  now, milliseconds since the epoch; what is over by then is taken down, and what is not over in
--          LONGEST_MS: nobody puts that up
-- ARGV[3]  the field
-- ARGV[4]  its value; empty takes it down
-- ARGV[5]  notices that are kept at most
-- RETURNS  1; 0 when there was nothing to take down; -1 when there are too many to put up another

-- 32 days: gateways put up notices for 31, and their clocks may differ.
local LONGEST_MS = 2764800000

local key, now_ms, field, value = KEYS[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local is_known, count, last_ms = false, 0, 0
local notices = redis.call('HGETALL', key)
for i = 1, #notices, 2 do
  local until_ms = tonumber(string.match(notices[i + 1], '^%d+')) or 0
  if notices[i] == field then
    is_known = until_ms > now_ms
  elseif until_ms <= now_ms or until_ms > now_ms + LONGEST_MS then
    redis.call('HDEL', key, notices[i])
  else
    count, last_ms = count + 1, math.max(last_ms, until_ms)
  end
end

if value == '' then
  redis.call('HDEL', key, field)
  if not is_known then return 0 end
else
  if count >= tonumber(ARGV[5]) then return -1 end
  redis.call('HSET', key, field, value)
  last_ms = math.max(last_ms, tonumber(string.match(value, '^%d+')))
end
if last_ms > now_ms then redis.call('PEXPIRE', key, string.format('%.0f', last_ms - now_ms)) end
redis.call('PUBLISH', ARGV[1], '')
return 1
