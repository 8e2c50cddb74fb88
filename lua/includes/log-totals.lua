-- The part of the sliding window log that few requests need: where costs vary, where a request was denied and counts, or was
-- refunded, and where the clock was set back.
--
--- @include "log-entries"
--- @include "now"
--- @include "server"

-- `search` is what log_search of log-search.lua returns.
local function log_totals(search)
  local text_of, entry_at, trim_to = search.text_of, search.entry_at, search.trim_to
  local first_index, first_younger = search.first_index, search.first_younger
  local now_time = now_ms % TIMES

  -- The total of a totalled entry or a base; nil for a plain entry.
  local function total_of(entry)
    if entry >= HALF then return math.floor(entry / TIMES) - 1 end
    if entry < -HALF then return -entry / TIMES - 1 end
    return nil
  end

  local function totalled(total, time)
    return string.format('%.0f', (total % TOTALS + 1) * TIMES + time)
  end

  -- The total before an index of a list with totals. The plain entries at its head count up to zero.
  local function total_before(descriptor, index)
    local key = descriptor.key
    local before = index > 0 and total_of(entry_at(key, index - 1))
    if before then return before end
    local plain = first_index(0, descriptor.length, function(middle) return total_of(entry_at(key, middle)) ~= nil end)
    return index - plain
  end

  -- Units of the entries from index `first` up to but not including `last`.
  local function units_between(descriptor, first, last)
    if not total_of(descriptor.newest) then return last - first end
    return (total_before(descriptor, last) - total_before(descriptor, first)) % TOTALS
  end

  local function base_of(total)
    return string.format('%.0f', -(total % TOTALS + 1) * TIMES)
  end

  -- Trims the entries before `first`. A base directly before it is kept.
  local function drop_before(descriptor, first)
    local key = descriptor.key
    local before = total_of(descriptor.newest) and entry_at(key, first - 1)
    if before and before < -HALF then return end
    local total = before and total_of(before)
    if not total then
      trim_to(key, first)
    else
      trim_to(key, first - 1)
      call('LSET', key, 0, base_of(total))
    end
  end

  -- The index of the first request: 1 after a base, otherwise 0.
  local function start_of(descriptor)
    if total_of(descriptor.newest) and entry_at(descriptor.key, 0) < -HALF then return 1 end
    return 0
  end

  -- Appends a request of now after entries whose total is `before`; nil after plain entries.
  local function push_total(key, before, units)
    local total = (before or 0) + units
    call('RPUSH', key, (before or units > 1) and totalled(total, now_time) or plain_entry(now_time))
  end

  -- The clock was set back by `ahead_ms`, so there are entries in the future. From now on they count as of now: no unit is
  -- forgotten, and no client waits for them longer than one window.
  local function repair(descriptor, ahead_ms)
    local key, start = descriptor.key, start_of(descriptor)
    local ahead = first_younger(descriptor, start, ahead_ms)
    local units = units_between(descriptor, ahead, descriptor.length)
    local before
    if ahead == start then
      call('DEL', key)
    else
      -- No entry is too old: the request that added the newest one dropped those that it outlived.
      call('LTRIM', key, 0, ahead - 1)
      before = total_of(entry_at(key, -1))
    end
    push_total(key, before, units)
    call('PEXPIRE', key, text_of(descriptor.row.lifetime_ms))
  end

  -- The most units that a log holds once it counts a rejected request: rejected requests must not make it grow without end.
  local function most_units(descriptor)
    return math.max(descriptor.row.limit, descriptor.units)
  end

  -- Drops the oldest units of a log beyond `most_units`.
  local function evict_excess(descriptor)
    local key = descriptor.key
    descriptor.newest, descriptor.length = entry_at(key, -1), call('LLEN', key)
    local start, length = start_of(descriptor), descriptor.length
    local excess = units_between(descriptor, start, length) - most_units(descriptor)
    if excess <= 0 then return end
    if not total_of(descriptor.newest) then
      trim_to(key, excess)
      return
    end
    local first = first_index(start, length, function(index)
      return units_between(descriptor, start, index + 1) > excess
    end)
    if not total_of(entry_at(key, first)) then
      trim_to(key, first)
      return
    end
    -- Part of the units of this entry may have to go, so the base includes them.
    local base = base_of(total_before(descriptor, start) + excess)
    if first == 0 then
      call('LPUSH', key, base)
    else
      trim_to(key, first - 1)
      call('LSET', key, 0, base)
    end
  end

  -- The index of the entry that has the last of the oldest `units` that count.
  local function index_of_unit(descriptor, units)
    local first = descriptor.first
    return first_index(first, descriptor.length - 1, function(middle)
      return units_between(descriptor, first, middle + 1) >= units
    end)
  end

  -- Drops the newest units that count. The time to live becomes that of the newest entry that is left, because an entry that
  -- outlives OLDEST_MS would seem to lie in the future.
  local function refund(descriptor, units)
    local key, first, left = descriptor.key, descriptor.first, descriptor.units - units
    if left <= 0 then
      call('DEL', key)
      return
    end
    local last = index_of_unit(descriptor, left)
    local entry = entry_at(key, last)
    local age_ms = descriptor.age_ms + (time_of(descriptor.newest) - time_of(entry)) % TIMES
    -- The total up to and including this entry, of whose units a part may go.
    local total = total_of(entry) and total_before(descriptor, first) + left
    call('LTRIM', key, 0, text_of(last))
    if total then
      call('LSET', key, text_of(last), totalled(total, time_of(entry)))
    end
    if first > 0 then drop_before(descriptor, first) end
    call('PEXPIRE', key, text_of(descriptor.row.lifetime_ms - age_ms))
  end

  -- Appends a request after the entries that count.
  local function push(descriptor, units)
    local counts = descriptor.first < descriptor.length
    push_total(descriptor.key, counts and total_of(descriptor.newest), units)
  end

  return {
    start_of = start_of,
    units_between = units_between,
    drop_before = drop_before,
    repair = repair,
    push = push,
    most_units = most_units,
    evict_excess = evict_excess,
    index_of_unit = index_of_unit,
    refund = refund,
  }
end
