-- Corrects counters by what requests turned out to cost. A settlement changes them once, however often it is sent: its mark
-- is set before anything else, and stays until the settlement ends.
--
-- KEYS     for each settlement its mark, then the key of each of its parts
-- ARGV[1]  now, milliseconds since the epoch; -1 reads the server's clock
-- ARGV[2]  the number of this call
-- ARGV[3]  two bytes per key that name its row, see includes/rows.lua; those of a mark are not read. The second byte is 64
--          higher for the last part of a settlement. Then a JSON list of numbers: for each settlement when it ends,
--          milliseconds since the epoch; and for each of its parts when its units were reserved, how many, and how many
--          were used
-- ARGV[4]  the first of the rows, see includes/rows.lua
-- RETURNS  the number of the call; now in milliseconds since the epoch; then for each part the units of a surplus that
--          were left out, usually 0; or why nothing changed:
--            -1  what was to be given back no longer counts
--            -2  the counter was reset after the reservation, see reset.lua
--            -3  it was settled before
--            -4  the settlement has ended
--
--- @include "rows"

local GONE, RESET, REPEATED, ENDED = -1, -2, -3, -4

local reply, length = { tonumber(ARGV[2]), now_ms }, 2
-- Faster than a pattern, which makes a text of each number first.
local numbers, at = cjson.decode(string.sub(ARGV[3], 2 * #KEYS + 1)), 0
local descriptor = { key = '', row = rows[1], units = 0, length = 0, first = 0, newest = 0, age_ms = 0 }

-- Nil if the settlement has not been settled before.
local function refusal(mark, ends_ms)
  if ends_ms <= now_ms then return ENDED end
  local is_new = call('SET', mark, '1', 'NX', 'PX', string.format('%.0f', ends_ms - now_ms))
  return not is_new and REPEATED or nil
end

local function settle(row, moment_ms, reserved, used)
  local reset_ms = call('GET', descriptor.key .. ':reset')
  if reset_ms and moment_ms <= tonumber(reset_ms) then return RESET end
  if used == reserved then return 0 end
  descriptor.row = row
  row.read(descriptor)
  return row.settle(descriptor, moment_ms, reserved, used) or GONE
end

local refused, is_mark = nil, true

for i = 1, #KEYS do
  if is_mark then
    refused, is_mark, at = refusal(KEYS[i], numbers[at + 1]), false, at + 1
  else
    local row, is_last = row_at(i)
    descriptor.key, is_mark, length = KEYS[i], is_last, length + 1
    reply[length] = refused or settle(row, numbers[at + 1], numbers[at + 2], numbers[at + 3])
    at = at + 3
  end
end

return reply
