-- Approximate sliding window. It adds the units of the current window to those of the previous one, weighted by the part
-- of it that lies within the last `window_ms`. Windows are aligned to the epoch. Memory per key is constant. In the worst
-- case, two bursts around a window boundary, almost twice the limit is admitted.
--
-- A key is a STRING: the number of the window since the epoch, the units in it, the units in the previous one.
--
-- Fields of a descriptor:
--   current     units in the current window
--   previous    units in the previous window
--   elapsed_ms  since the current window began
--
--- @include "now"
--- @include "server"
--- @include "surplus"

local function sliding_window_counter()
  local function write(descriptor, current, previous)
    local row = descriptor.row
    if not row.window_text then
      -- Redis formats the numbers in a command slowly, so it gets text, and all keys of a row share it.
      row.window_text = string.format('%.0f ', row.start_ms / row.window_ms)
      row.lifetime_text = string.format('%.0f', row.start_ms + 2 * row.window_ms - now_ms)
    end
    call('SET', descriptor.key, row.window_text .. string.format('%.0f %.0f', current, previous), 'PX', row.lifetime_text)
  end

  local function read(descriptor)
    local row = descriptor.row
    local window_ms = row.window_ms
    local elapsed_ms = now_ms % window_ms
    local value = call('GET', descriptor.key)
    local current, previous = 0, 0
    if value then
      local window
      window, current, previous = string.match(value, '^(%d+) (%d+) (%d+)$')
      current, previous = tonumber(current), tonumber(previous)
      local passed = (now_ms - elapsed_ms) / window_ms - tonumber(window)
      if passed < 0 then
        -- The clock was set back. The units of the later window count in this one.
        write(descriptor, current, previous)
      elseif passed == 1 then
        current, previous = 0, current
      elseif passed > 1 then
        current, previous = 0, 0
      end
    end
    descriptor.current, descriptor.previous, descriptor.elapsed_ms = current, previous, elapsed_ms
    return previous * (window_ms - elapsed_ms) <= (row.limit - current - row.need) * window_ms
  end

  -- Milliseconds until a request of this cost fits, either in this window or in the next one.
  local function wait(descriptor)
    local row, current, previous = descriptor.row, descriptor.current, descriptor.previous
    local window_ms = row.window_ms
    local left_ms = window_ms - descriptor.elapsed_ms
    local free = row.limit - current - row.need
    if row.cost < 0 or previous * left_ms <= free * window_ms then return 0 end
    local late_enough_ms = free > 0 and math.floor(free * window_ms / previous) or 0
    if late_enough_ms > 0 then return left_ms - late_enough_ms end
    if current == 0 then return left_ms end
    return left_ms + math.max(0, window_ms - math.floor(math.max(0, row.limit - row.need) * window_ms / current))
  end

  local function record(descriptor, admitted)
    local row, current, previous = descriptor.row, descriptor.current, descriptor.previous
    if row.cost < 0 and admitted then
      -- A refund goes to the current window first.
      local rest = current + row.cost
      current, previous = math.max(0, rest), math.max(0, previous + math.min(0, rest))
      if current + previous > 0 then
        write(descriptor, current, previous)
      else
        call('DEL', descriptor.key)
      end
    elseif row.cost > 0 and admitted then
      current = current + row.cost
      write(descriptor, current, previous)
    elseif row.cost > 0 and row.count_rejected then
      current = math.max(current, math.min(current + row.cost, row.limit))
      write(descriptor, current, previous)
    end
    descriptor.current, descriptor.previous = current, previous
    local window_ms = row.window_ms
    local left_ms = window_ms - descriptor.elapsed_ms
    local remaining = math.floor(((row.limit - current) * window_ms - previous * left_ms) / window_ms)
    local reset_ms = 0
    if current > 0 then reset_ms = left_ms + window_ms elseif previous > 0 then reset_ms = left_ms end
    return math.max(0, remaining), reset_ms, wait(descriptor)
  end

  local function settle(descriptor, moment_ms, reserved, used)
    local current, previous, window_ms = descriptor.current, descriptor.previous, descriptor.row.window_ms
    local more, cut = used - reserved, 0
    local start_ms = now_ms - descriptor.elapsed_ms
    if more > 0 then
      local units = surplus_units(descriptor.row, more, MOST_SETTLED / window_ms - current)
      current, cut = current + units, more - units
    elseif moment_ms >= start_ms and current > 0 then
      current = math.max(0, current + more)
    elseif moment_ms < start_ms and moment_ms >= start_ms - window_ms and previous > 0 then
      previous = math.max(0, previous + more)
    else
      return nil
    end
    if current + previous > 0 then write(descriptor, current, previous) else call('DEL', descriptor.key) end
    return cut
  end

  return { read = read, record = record, settle = settle }
end
