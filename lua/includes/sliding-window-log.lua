-- Exact sliding window: a LIST with one entry per request, oldest first. A request counts while it is younger than the
-- window, so no interval of that length, wherever it starts, ever holds more than the limit.
--
-- Every entry is an integer, because Redis stores integers compactly:
--
--   plain     time - 2^31                     a request that cost 1; six bytes
--   totalled  (total + 1) x 2^32 + time       a request of any cost; about nine bytes
--   base      -(total + 1) x 2^32             not a request: the total before the first entry that follows
--
-- `time` is the moment of the request in milliseconds modulo 2^32. That is 49.7 days, and a window has at most 31.
-- `total` is the number of units up to and including the request, so the units of any part of the list are one
-- subtraction. It starts at zero after the last plain entry and is kept modulo TOTALS. When costs begin to vary, all
-- further entries are totalled until the log is empty: a list is plain entries, then totalled ones. When totalled
-- entries are trimmed from its head, a base takes their place. A refund drops the newest entries; of a totalled entry it
-- may take a part, so the total of that entry becomes smaller.
--
-- Times are compared as ages relative to the newest entry. Only the newest entry is compared with the clock.
--
-- A key expires when its newest entry leaves the window, or up to a sixteenth of a window later: the first request of
-- every sixteenth sets a time to live that is long enough for all requests of that sixteenth.
--
-- Fields of a descriptor:
--   units   that count now
--   length  of the list
--   first   index of the first entry that counts; `length` if none does
--   newest  the last entry; nil if the list is empty
--   age_ms  of the newest entry
--
--- @include "now"
--- @include "server"

local TIMES = 4294967296
local HALF = 2147483648
-- More than twice the largest limit. With a time in its low 32 bits, a total is still a number that Lua holds exactly.
local TOTALS = 2097151
-- 33 days. No key lives longer, so an entry that seems older lies in the future: the clock was set back.
local OLDEST_MS = 2851200000

local log = {}

-- Redis formats the numbers in a command slowly, so commands get text, and each text is made once.
local texts = {}

local function text_of(number)
  local text = texts[number]
  if not text then
    text = string.format('%.0f', number)
    texts[number] = text
  end
  return text
end

local function entry_at(key, index)
  return tonumber(call('LINDEX', key, text_of(index)))
end

-- Drops the entries before `index`.
local function trim_to(key, index)
  call('LTRIM', key, text_of(index), '-1')
end

-- The time of a plain or totalled entry.
local function time_of(entry)
  if entry < HALF then return entry + HALF end
  return entry % TIMES
end

-- The total of a totalled entry or a base; nil for a plain entry.
local function total_of(entry)
  if entry >= HALF then return math.floor(entry / TIMES) - 1 end
  if entry < -HALF then return -entry / TIMES - 1 end
  return nil
end

local now_time = now_ms % TIMES
-- Numbers are written with %.0f, because Lua's own conversion keeps only 14 digits.
local NOW_PLAIN = string.format('%.0f', now_time - HALF)

local function totalled(total, time)
  return string.format('%.0f', (total % TOTALS + 1) * TIMES + time)
end

local function push(key, total)
  call('RPUSH', key, total and totalled(total, now_time) or NOW_PLAIN)
end

-- The smallest index in low..high for which `is_enough` is true; `high` if there is none.
local function first_index(low, high, is_enough)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_enough(middle) then high = middle else low = middle + 1 end
  end
  return low
end

-- The first index from `low` on whose entry is less than `age_ms` older than the newest entry. It is usually close to
-- `low`, so the search starts there with steps that double.
local function first_younger(descriptor, low, age_ms)
  local key, length, newest_time = descriptor.key, descriptor.length, time_of(descriptor.newest)
  local high, step = low, 1
  while high < length and (newest_time - time_of(entry_at(key, high))) % TIMES >= age_ms do
    low, high, step = high + 1, high + step, step * 2
  end
  high = math.min(high, length)
  if low == high then return low end
  return first_index(low, high, function(index)
    return (newest_time - time_of(entry_at(key, index))) % TIMES < age_ms
  end)
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

-- The clock was set back by `ahead_ms`, so there are entries in the future. From now on they count as of now: no unit is
-- forgotten, and no client waits for them longer than one window.
local function repair(descriptor, ahead_ms)
  local key, start = descriptor.key, start_of(descriptor)
  local ahead = first_younger(descriptor, start, ahead_ms)
  local units = units_between(descriptor, ahead, descriptor.length)
  local total
  if ahead == start then
    call('DEL', key)
  else
    -- No entry is too old: the request that added the newest one dropped those that it outlived.
    call('LTRIM', key, 0, ahead - 1)
    total = total_of(entry_at(key, -1))
  end
  if total or units > 1 then total = (total or 0) + units end
  push(key, total)
  call('PEXPIRE', key, text_of(descriptor.row.lifetime_ms))
end

function log.read(descriptor)
  local key, row = descriptor.key, descriptor.row
  local newest = tonumber(call('LINDEX', key, '-1'))
  if not newest then
    descriptor.units, descriptor.length, descriptor.first, descriptor.newest = 0, 0, 0, nil
    return row.need <= row.limit
  end
  local length = call('LLEN', key)
  local is_plain = newest < HALF
  local age_ms = (now_time - (is_plain and newest + HALF or newest)) % TIMES
  descriptor.length, descriptor.newest, descriptor.age_ms = length, newest, age_ms
  if age_ms > OLDEST_MS then
    repair(descriptor, TIMES - age_ms)
    return log.read(descriptor)
  end
  local first, reach_ms = length, row.window_ms - age_ms
  local units
  if is_plain then
    -- The common case: every request cost 1.
    if reach_ms > 0 then
      first = 0
      -- The subtraction converts the text, faster than `tonumber`.
      if length > 1 and (newest - call('LINDEX', key, '0')) % TIMES >= reach_ms then
        first = first_younger(descriptor, 1, reach_ms)
      end
    end
    units = length - first
  else
    if reach_ms > 0 then first = first_younger(descriptor, start_of(descriptor), reach_ms) end
    units = units_between(descriptor, first, length)
  end
  descriptor.first, descriptor.units = first, units
  return units + row.need <= row.limit
end

local function append(descriptor, units)
  local key, row, first, length = descriptor.key, descriptor.row, descriptor.first, descriptor.length
  local is_empty = first == length
  local total = not is_empty and descriptor.newest >= HALF and total_of(descriptor.newest)
  if is_empty then
    if length > 0 then call('DEL', key) end
  elseif first > 0 then
    drop_before(descriptor, first)
  end
  if total or units > 1 then total = (total or 0) + units end
  push(key, total)
  if is_empty or descriptor.age_ms > row.since_sixteenth_ms then call('PEXPIRE', key, text_of(row.lifetime_ms)) end
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

-- Drops the newest units that count. The time to live becomes that of the newest entry that is left, because an entry that
-- outlives OLDEST_MS would seem to lie in the future.
local function refund(descriptor, units)
  local key, first, left = descriptor.key, descriptor.first, descriptor.units - units
  if left <= 0 then
    call('DEL', key)
    return
  end
  local last = first_index(first, descriptor.length - 1, function(index)
    return units_between(descriptor, first, index + 1) >= left
  end)
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

-- Milliseconds until a request of this cost fits. For a cost above the limit, until nothing counts.
local function log_wait(descriptor)
  local row, first, newest = descriptor.row, descriptor.first, descriptor.newest
  local excess = descriptor.units + row.need - row.limit
  if excess <= 0 then return 0 end
  if descriptor.units == 0 then return row.window_ms end
  excess = math.min(excess, descriptor.units)
  local last = descriptor.length - 1
  local index = first + excess - 1
  if newest >= HALF then
    index = first_index(first, last, function(middle)
      return units_between(descriptor, first, middle + 1) >= excess
    end)
  end
  local entry = entry_at(descriptor.key, math.min(index, last))
  return row.window_ms - (time_of(newest) - time_of(entry)) % TIMES - descriptor.age_ms
end

function log.record(descriptor, admitted)
  local row = descriptor.row
  if row.cost < 0 and admitted then
    refund(descriptor, -row.cost)
    log.read(descriptor)
  elseif row.cost > 0 and (admitted or row.count_rejected) then
    if admitted then
      append(descriptor, row.cost)
      local remaining = row.limit - descriptor.units - row.cost
      if remaining >= row.cost then return remaining, row.window_ms, 0 end
    else
      append(descriptor, math.min(row.cost, most_units(descriptor)))
      evict_excess(descriptor)
    end
    log.read(descriptor)
  end
  if descriptor.units == 0 then return row.limit, 0, log_wait(descriptor) end
  return math.max(0, row.limit - descriptor.units), row.window_ms - descriptor.age_ms, log_wait(descriptor)
end
