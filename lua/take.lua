-- Counts a batch of requests: each takes units from all of its descriptors or from none.
--
-- Requests are decided in order; each sees what earlier ones took. A denied request writes nothing, except to quotas
-- that count rejected requests, and except for a charge that takes what is left.
--
-- KEYS     one key per descriptor, request after request
-- ARGV[1]  now, milliseconds since the epoch; -1 reads the server's clock
-- ARGV[2]  the number of this call
-- ARGV[3]  two bytes per key that name its row, see includes/rows.lua
-- ARGV[4]  the first of the rows, see includes/rows.lua
-- RETURNS  the number of the call, so that the caller recognizes its reply; now in milliseconds since the epoch; then
--          for each descriptor:
--            the units remaining, or -1 minus that number if the request was denied
--            milliseconds until the quota is full again; of a bucket its debt, see includes/token-bucket.lua
--            only if fewer units remain than the request costs, and at least one: milliseconds until a request of this
--            cost fits
--            only of a charge whose request was denied: the units that it took
--
--- @include "rows"
--- @include "reply"
--- @include "remainders"

local take_remainders = has_charges and remainders()

-- The descriptors of one request. The tables are reused by the next request.
local descriptors, count, admitted = {}, 0, true

for i = 1, #KEYS do
  local row, is_last = row_at(i)
  count = count + 1
  local descriptor = descriptors[count]
  if not descriptor then
    -- It has the fields of a log from the start, because a table that grows is slower.
    descriptor = { key = '', row = row, units = 0, length = 0, first = 0, newest = 0, age_ms = 0 }
    descriptors[count] = descriptor
  end
  descriptor.key, descriptor.row = KEYS[i], row
  descriptor.named_before = row.inherits_from and descriptors[count + row.inherits_from]
  if not row.read(descriptor) then admitted = false end
  if is_last then
    if take_remainders and not admitted then take_remainders(descriptors, count) end
    for j = 1, count do record_and_reply(descriptors[j], admitted) end
    count, admitted = 0, true
  end
end

return reply
