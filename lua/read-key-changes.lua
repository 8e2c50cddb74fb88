-- Reads which API keys were changed.
--
-- KEYS[1]  the stream of changes. An entry has one field, whose value lists digests.
-- ARGV[1]  the id of the first entry to read; empty for the newest one alone
-- ARGV[2]  how many entries to read at most
-- ARGV[3]  the longest value that gateways write, in bytes
-- RETURNS  the id and the value of each entry; an empty value in place of one that no gateway writes

local key, from, most, longest = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local entries
if from == '' then
  entries = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
else
  entries = redis.call('XRANGE', key, from, '+', 'COUNT', most)
end
local reply = {}
for i, entry in ipairs(entries) do
  local value = entry[2][2]
  reply[2 * i - 1] = entry[1]
  reply[2 * i] = #value <= longest and value or ''
end
return reply
