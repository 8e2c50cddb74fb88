-- Reads quotas without taking from them.
--
-- KEYS     as in take.lua
-- ARGV[1]  as in take.lua
-- ARGV[2]  as in take.lua
-- ARGV[3]  as in take.lua
-- ARGV[4]  as in take.lua
-- RETURNS  what take.lua returns for requests that were denied
--
--- @include "rows"
--- @include "reply"

local descriptors = {}

for i = 1, #KEYS do
  local row = row_at(i)
  row.count_rejected = false
  local descriptor = { key = KEYS[i], row = row }
  descriptor.named_before = row.inherits_from and descriptors[i + row.inherits_from]
  descriptors[i] = descriptor
  row.read(descriptor)
  record_and_reply(descriptor, false)
end

return reply
