-- Token bucket, kept as a debt (GCRA, ITU-T I.371, annex A). `limit` units flow back per window, evenly; at most `burst`
-- units can be taken at one moment. Memory per key is constant.
--
-- A key is a STRING: a moment in milliseconds since the epoch, and the debt at that moment. Debt is counted in units x
-- window_ms, and every millisecond repays `limit` of it. These are whole numbers, so nothing is rounded.
--
-- Fields of a descriptor:
--   debt          at this moment, at least that of the name before
--   named_before  the descriptor of the name that the client had before, if it is in this call
--
--- @include "now"
--- @include "server"
--- @include "surplus"

local function token_bucket()
  local now_text = string.format('%.0f ', now_ms)

  local function write(descriptor, debt)
    local row = descriptor.row
    -- Redis formats the numbers in a command slowly, so it gets text.
    local lifetime_text = string.format('%.0f', math.ceil(debt / row.limit))
    call('SET', descriptor.key, now_text .. string.format('%.0f', debt), 'PX', lifetime_text)
  end

  local function read(descriptor)
    local row = descriptor.row
    local value = call('GET', descriptor.key)
    local debt = 0
    if value then
      local at_ms
      at_ms, debt = string.match(value, '^(%d+) (%d+)$')
      at_ms, debt = tonumber(at_ms), tonumber(debt)
      if at_ms > now_ms then
        -- The clock was set back. The debt is kept, as of now.
        write(descriptor, debt)
      else
        debt = math.max(0, debt - row.limit * (now_ms - at_ms))
      end
    end
    debt = math.max(debt, row.least_debt)
    if row.inherits_from then debt = math.max(debt, descriptor.named_before.debt) end
    descriptor.debt = debt
    return debt + row.need * row.window_ms <= row.burst * row.window_ms
  end

  local function record(descriptor, admitted)
    local row, debt = descriptor.row, descriptor.debt
    local cost, burst = row.cost * row.window_ms, row.burst * row.window_ms
    if row.cost < 0 and admitted then
      debt = math.max(0, debt + cost)
      if debt > 0 then write(descriptor, debt) else call('DEL', descriptor.key) end
    elseif row.cost > 0 and admitted then
      debt = debt + cost
      write(descriptor, debt)
    elseif row.cost > 0 and row.count_rejected then
      debt = math.max(debt, math.min(debt + cost, burst))
      write(descriptor, debt)
    end
    local remaining = math.floor((burst - debt) / row.window_ms)
    -- More than the burst never fits. The wait is as for one unit more than the burst, so that it is not without end.
    local needed = math.min(row.need, row.burst + 1) * row.window_ms
    local wait_ms = math.max(0, math.ceil((debt + needed - burst) / row.limit))
    return math.max(0, remaining), debt, wait_ms
  end

  local function settle(descriptor, moment_ms, reserved, used)
    local row, debt, more, cut = descriptor.row, descriptor.debt, used - reserved, 0
    if more > 0 then
      local units = surplus_units(row, more, (MOST_SETTLED - debt) / row.window_ms)
      debt, cut = debt + units * row.window_ms, more - units
    else
      -- What has flowed back since the reservation cannot be given back once more.
      local left = reserved * row.window_ms - row.limit * math.max(0, now_ms - moment_ms)
      local back = math.min(-more * row.window_ms, left, debt)
      if back <= 0 then return nil end
      debt = debt - back
    end
    if debt > 0 then write(descriptor, debt) else call('DEL', descriptor.key) end
    return cut
  end

  return { read = read, record = record, settle = settle }
end
