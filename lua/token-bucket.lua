-- Token bucket, as the generic cell rate algorithm keeps it (ITU-T I.371, annex A): not the tokens but what is missing.
-- `limit` units flow back per window, evenly; at most `burst` can be taken at one moment. Constant memory.
--
-- A key is a STRING: a moment in milliseconds since the epoch, and the debt at that moment. Debt is counted in units x
-- window_ms, of which `limit` are paid back every millisecond: whole numbers, so nothing is ever rounded away.

local bucket = {}

local function bucket_write(key, row, debt)
  call('SET', key, string.format('%.0f %.0f', now_ms, debt), 'PX', math.ceil(debt / row.limit))
end

-- Whether the request fits, then what `settle` needs to know: the debt.
function bucket.read(key, row)
  local value = call('GET', key)
  local debt = 0
  if value then
    local at_ms
    at_ms, debt = string.match(value, '^(%d+) (%d+)$')
    at_ms, debt = tonumber(at_ms), tonumber(debt)
    if at_ms > now_ms then
      -- The clock was set back: the debt is what it was, as of now.
      bucket_write(key, row, debt)
    else
      debt = math.max(0, debt - row.limit * (now_ms - at_ms))
    end
  end
  return debt + row.cost * row.window_ms <= row.burst * row.window_ms, debt
end

-- Records the request if it counts; returns the units remaining, the milliseconds until the bucket is full again, and
-- those until a request of this cost would be admitted.
function bucket.settle(key, row, admitted, debt)
  local cost, burst = row.cost * row.window_ms, row.burst * row.window_ms
  if admitted then
    debt = debt + cost
    bucket_write(key, row, debt)
  elseif row.count_rejected then
    debt = math.max(debt, math.min(debt + cost, burst))
    bucket_write(key, row, debt)
  end
  local remaining = math.floor((burst - debt) / row.window_ms)
  local wait_ms = math.ceil((debt + cost - burst) / row.limit)
  return math.max(0, remaining), math.ceil(debt / row.limit), math.max(0, wait_ms)
end
