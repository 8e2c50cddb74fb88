-- Builds the reply of take.lua and peek.lua.
--
-- ARGV[2]  the number of this call
--
--- @include "now"
--- @include "rows"

local reply, length = { tonumber(ARGV[2]), now_ms }, 2

-- Records a request at one of its descriptors and appends two to four numbers, see RETURNS in take.lua.
local function record_and_reply(descriptor, admitted)
  local row = descriptor.row
  local remaining, reset_ms, wait_ms = row.record(descriptor, admitted)
  if admitted and row.notes_calls then calls.note(descriptor) end
  if admitted and row.spends_call then calls.use(descriptor, remaining, false) end
  reply[length + 1] = admitted and remaining or -1 - remaining
  reply[length + 2] = reset_ms
  length = length + 2
  if remaining < row.enough then
    length = length + 1
    reply[length] = wait_ms
  end
  if not admitted and row.takes_remainder and descriptor.taken then
    length = length + 1
    reply[length] = descriptor.taken
  end
end
