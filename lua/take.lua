-- Takes from quotas: for each request of a batch, from all of its descriptors or from none. The parts before this one
-- (clock, sliding-window-log, sliding-window-counter, token-bucket, rows) are the same script.
--
-- Requests are handled in their order; each sees what the ones before it took. A denial writes nothing, but for quotas
-- that count rejections.
--
-- KEYS     the descriptors' keys, request after request
-- ARGV[1]  now, milliseconds since the epoch; -1 reads the server's clock
-- ARGV[2]  the number of this call
-- ARGV[3]  two bytes for each key, the number of its row below: from 32 on, times 1 and times 64; the second is 64
--          more for the last descriptor of a request
-- ARGV[4]  then rows of six: algorithm (log, counter, bucket), limit in units, window in milliseconds, burst in units,
--          cost in units, whether rejections count (1 or 0)
-- RETURNS  the number of the call, so that no other question is answered by this; now; then for each descriptor: the
--          units remaining, or -1 less them if the request was denied; milliseconds until the quota is full again; and
--          if fewer units remain than the request costs, milliseconds until a request of this cost would be admitted

local reply, replied = { tonumber(ARGV[2]), now_ms }, 2

local function settle(key, row, admitted, a, b, c, d, e)
  local remaining, reset_ms, wait_ms = row.settle(key, row, admitted, a, b, c, d, e)
  reply[replied + 1] = admitted and remaining or -1 - remaining
  reply[replied + 2] = reset_ms
  replied = replied + 2
  if remaining < row.cost then
    replied = replied + 1
    reply[replied] = wait_ms
  end
end

local plan, byte = ARGV[3], string.byte
-- What was read for the descriptors of a request with several, each in its place among the keys.
local row, a, b, c, d, e = {}, {}, {}, {}, {}, {}
local first, admitted = 1, true
for i = 1, #KEYS do
  local key = KEYS[i]
  local low, high = byte(plan, 2 * i - 1, 2 * i)
  local is_last = high >= 96
  local own = rows[low - 31 + (high - (is_last and 96 or 32)) * 64]
  if is_last and first == i then
    settle(key, own, own.read(key, own))
    first = i + 1
  else
    local fits
    row[i] = own
    fits, a[i], b[i], c[i], d[i], e[i] = own.read(key, own)
    admitted = admitted and fits
    if is_last then
      for j = first, i do settle(KEYS[j], row[j], admitted, a[j], b[j], c[j], d[j], e[j]) end
      first, admitted = i + 1, true
    end
  end
end

return reply
