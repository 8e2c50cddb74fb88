-- Fixed windows, one after the other: multiples of a length since the epoch, or days, weeks, months and years of a calendar.
-- A count begins at zero with each window. Memory per key is constant. In the worst case, two bursts around the end of a
-- window, twice the limit is admitted within a moment.
--
-- Rejected requests count in full, also beyond the limit: the window ends in any case, so they lengthen no wait.
--
-- A key is a STRING: the start of the window in milliseconds since the epoch, and the units in it. It expires a sixteenth of
-- a window after its window has ended, so that a clock that is set back by little does not find it gone.
--
-- Fields of a descriptor:
--   count  units in this window
--
--- @include "now"
--- @include "server"
--- @include "surplus"

-- Units that a window counts at most. Lua holds such numbers exactly.
local MOST_UNITS = 4503599627370496

local function fixed_window()
  -- What the value of a key begins with in this window.
  local function start_text(row)
    row.start_text = row.start_text or string.format('%.0f ', row.start_ms)
    return row.start_text
  end

  local function write(descriptor, count)
    local row = descriptor.row
    -- Redis formats the numbers in a command slowly, so it gets text, and all keys of a row share it.
    row.lifetime_text = row.lifetime_text or string.format('%.0f', row.start_ms + row.lifetime_ms - now_ms)
    call('SET', descriptor.key, start_text(row) .. string.format('%.0f', count), 'PX', row.lifetime_text)
  end

  local function fits(row, count)
    return row.cost < 0 or count + row.cost <= row.limit
  end

  local function read(descriptor)
    local row = descriptor.row
    local value = call('GET', descriptor.key)
    local count, beginning = 0, start_text(row)
    if value and string.sub(value, 1, #beginning) == beginning then
      -- The common case, without a pattern.
      count = tonumber(string.sub(value, #beginning + 1))
    elseif value then
      local start_ms, units = string.match(value, '^(%d+) (%d+)$')
      -- Gateways with other versions of the time zone rules may differ in the start of a window, by less than half of it.
      if tonumber(start_ms) > row.start_ms - row.window_ms / 2 then count = tonumber(units) end
      -- The clock may have been set back. Then the units of the later window count in this one.
      if tonumber(start_ms) > row.start_ms then write(descriptor, count) end
    end
    descriptor.count = count
    return fits(row, count)
  end

  local function record(descriptor, admitted)
    local row, count = descriptor.row, descriptor.count
    if row.cost < 0 and admitted then
      count = math.max(0, count + row.cost)
      if count > 0 then write(descriptor, count) else call('DEL', descriptor.key) end
    elseif row.cost > 0 and (admitted or row.count_rejected) then
      count = math.min(count + row.cost, MOST_UNITS)
      write(descriptor, count)
    end
    local left_ms = row.start_ms + row.window_ms - now_ms
    return math.max(0, row.limit - count), count > 0 and left_ms or 0, fits(row, count) and 0 or left_ms
  end

  local function settle(descriptor, moment_ms, reserved, used)
    local row, count, more, cut = descriptor.row, descriptor.count, used - reserved, 0
    if more > 0 then
      local units = surplus_units(row, more, MOST_UNITS - count)
      count, cut = count + units, more - units
    elseif moment_ms >= row.start_ms and count > 0 then
      count = math.max(0, count + more)
    else
      return nil
    end
    if count > 0 then write(descriptor, count) else call('DEL', descriptor.key) end
    return cut
  end

  return { read = read, record = record, settle = settle }
end
