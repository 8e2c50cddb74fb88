-- Reads the records of API keys.
--
-- KEYS     the strings with the records
-- ARGV[1]  the longest record, in bytes
-- RETURNS  for each key: its text, or the beginning of one that is too long; an empty one if there is no such string. An
--          error if the account may not read keys: they are not unknown then.

local last = tonumber(ARGV[1])
local texts = {}
for i = 1, #KEYS do
  -- The type of a key that another program wrote is an error.
  local text = redis.pcall('GETRANGE', KEYS[i], 0, last)
  if type(text) == 'table' and not string.find(text.err, 'WRONGTYPE', 1, true) then return text end
  texts[i] = type(text) == 'string' and text or ''
end
return texts
