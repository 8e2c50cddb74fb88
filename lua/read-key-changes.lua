-- Reads which API keys were changed.
--
-- KEYS[1]  the stream of changes. An entry has one field: its name is random, its value lists digests. A stream that was
--          lost and begun again may have an id again, but not with the same name.
-- ARGV[1]  the id of the first entry to read; empty for the newest one alone
-- ARGV[2]  how many entries to read at most
-- ARGV[3]  the longest name and value that gateways write, in bytes
-- RETURNS  the id, the name and the value of each entry; an empty name or value in place of one that no gateway writes
--
--- @include "server"

local key, from, most, longest = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local entries
if from == '' then
  entries = call('XREVRANGE', key, '+', '-', 'COUNT', 1)
else
  entries = call('XRANGE', key, from, '+', 'COUNT', most)
end
local reply = {}
for _, entry in ipairs(entries) do
  reply[#reply + 1] = entry[1]
  for part = 1, 2 do
    local text = entry[2][part]
    reply[#reply + 1] = #text <= longest and text or ''
  end
end
return reply
