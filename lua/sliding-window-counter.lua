-- Approximate sliding window: the requests of the current window and, weighted by the part of it that the last
-- `window_ms` still cover, those of the one before. Windows are aligned to the epoch. Constant memory; the worst case is
-- nearly twice the limit, when two bursts meet at a boundary.
--
-- A key is a STRING: the number of the window since the epoch, units in it, units in the one before.

local counter = {}

local function counter_write(key, row, current, previous, elapsed_ms)
  local window = (now_ms - elapsed_ms) / row.window_ms
  call('SET', key, string.format('%.0f %.0f %.0f', window, current, previous), 'PX', 2 * row.window_ms - elapsed_ms)
end

-- Whether the request fits, then what `settle` needs to know: units in this window and the one before, and how far it is.
function counter.read(key, row)
  local window_ms = row.window_ms
  local elapsed_ms = now_ms % window_ms
  local value = call('GET', key)
  local current, previous = 0, 0
  if value then
    local window
    window, current, previous = string.match(value, '^(%d+) (%d+) (%d+)$')
    current, previous = tonumber(current), tonumber(previous)
    local passed = (now_ms - elapsed_ms) / window_ms - tonumber(window)
    if passed < 0 then
      -- The clock was set back: what was counted ahead of it counts in this window.
      counter_write(key, row, current, previous, elapsed_ms)
    elseif passed == 1 then
      current, previous = 0, current
    elseif passed > 1 then
      current, previous = 0, 0
    end
  end
  local fits = previous * (window_ms - elapsed_ms) <= (row.limit - current - row.cost) * window_ms
  return fits, current, previous, elapsed_ms
end

-- Milliseconds until a request of this cost fits: in this window, or when this one is the one before.
local function counter_wait(row, current, previous, elapsed_ms)
  local window_ms = row.window_ms
  local left_ms = window_ms - elapsed_ms
  local room = row.limit - current - row.cost
  if previous * left_ms <= room * window_ms then return 0 end
  local late_enough_ms = room > 0 and math.floor(room * window_ms / previous) or 0
  if late_enough_ms > 0 then return left_ms - late_enough_ms end
  if current == 0 then return left_ms end
  return left_ms + math.max(0, window_ms - math.floor((row.limit - row.cost) * window_ms / current))
end

-- Records the request if it counts; returns the units remaining, the milliseconds until the quota is full again, and
-- those until a request of this cost would be admitted.
function counter.settle(key, row, admitted, current, previous, elapsed_ms)
  if admitted then
    current = current + row.cost
    counter_write(key, row, current, previous, elapsed_ms)
  elseif row.count_rejected then
    current = math.max(current, math.min(current + row.cost, row.limit))
    counter_write(key, row, current, previous, elapsed_ms)
  end
  local window_ms = row.window_ms
  local left_ms = window_ms - elapsed_ms
  local remaining = math.floor(((row.limit - current) * window_ms - previous * left_ms) / window_ms)
  local reset_ms = 0
  if current > 0 then reset_ms = left_ms + window_ms elseif previous > 0 then reset_ms = left_ms end
  return math.max(0, remaining), reset_ms, counter_wait(row, current, previous, elapsed_ms)
end
