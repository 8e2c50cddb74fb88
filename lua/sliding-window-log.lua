-- Exact sliding window: a LIST with one entry per request, oldest first. A request counts while it is younger than the
-- window, so no stretch of that length, wherever it starts, ever holds more than the limit.
--
-- Every entry is an integer, which Redis packs:
--
--   plain     time - 2^31                     a request that cost 1; six bytes
--   totalled  (total + 1) x 2^32 + time       any cost; nine bytes more or less
--   base      -(total + 1) x 2^32             not a request: the total before the first of them
--
-- `time` is the request's moment in milliseconds modulo 2^32: 49.7 days, and a window ends at 31. `total` is the number
-- of units up to and including the request, so that the units of any stretch are one subtraction; it starts from zero
-- behind the last plain entry, and is kept modulo TOTALS. Once costs vary, the entries from there on are totalled until
-- the log is empty again: a list is plain entries, then totalled ones. Where totalled entries were trimmed at its head,
-- a base stands in their place.
--
-- Times are compared as ages before the newest entry. Only the newest is compared with the clock.
--
-- A key expires when its newest entry is over, or up to a sixteenth of a window later: its time to live is set by the
-- first request of every sixteenth, long enough for all of them.

local TIMES = 4294967296
local HALF = 2147483648
-- Twice the largest limit; with a time below it, a total still makes a number that Lua holds exactly.
local TOTALS = 2097151
-- 33 days, longer than any key lives. What seems older is ahead: the clock was set back.
local OLDEST_MS = 2851200000

local log = {}

-- Redis formats numbers slowly.
local ENDS = { [-1] = '-1', [0] = '0', [1] = '1' }

local function entry_at(key, index)
  return tonumber(call('LINDEX', key, ENDS[index] or index))
end

-- Of a plain or totalled entry.
local function time_of(entry)
  if entry < HALF then return entry + HALF end
  return entry % TIMES
end

-- Of a totalled entry or a base; nil for a plain one.
local function total_of(entry)
  if entry >= HALF then return math.floor(entry / TIMES) - 1 end
  if entry < -HALF then return -entry / TIMES - 1 end
  return nil
end

local now_time = now_ms % TIMES
-- Numbers are written with %.0f: Lua's own conversion keeps 14 digits.
local NOW_PLAIN = string.format('%.0f', now_time - HALF)

local function push(key, total)
  call('RPUSH', key, total and string.format('%.0f', (total % TOTALS + 1) * TIMES + now_time) or NOW_PLAIN)
end

local function expire(key, row)
  call('PEXPIRE', key, row.lifetime_text)
end

-- The smallest index from `low` on for which `is_enough` holds; `high` if none.
local function first_index(low, high, is_enough)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_enough(middle) then high = middle else low = middle + 1 end
  end
  return low
end

-- The first index from `low` on that is younger than `age_ms`; it is mostly close to `low`, so the steps double.
local function first_younger(key, low, length, newest_time, age_ms)
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

-- How many plain entries a list with totals begins with.
local function count_plain(key, length)
  return first_index(0, length, function(index) return total_of(entry_at(key, index)) ~= nil end)
end

-- The total before an index of a list with totals; the plain entries count up to zero.
local function total_before(key, index, length)
  local before = index > 0 and total_of(entry_at(key, index - 1))
  if before then return before end
  return index - count_plain(key, length)
end

-- Units of the entries from one index to before another; `newest` tells whether the list has totals.
local function units_between(key, first, last, length, newest)
  if not total_of(newest) then return last - first end
  return (total_before(key, last, length) - total_before(key, first, length)) % TOTALS
end

local function base_of(total)
  return string.format('%.0f', -(total % TOTALS + 1) * TIMES)
end

-- A base that stands there already stays: it has no time.
local function drop_before(key, first, newest)
  local before = total_of(newest) and entry_at(key, first - 1)
  if before and before < -HALF then return end
  local total = before and total_of(before)
  if not total then
    call('LTRIM', key, first, -1)
  else
    call('LTRIM', key, first - 1, -1)
    call('LSET', key, 0, base_of(total))
  end
end

local function start_of(key, newest)
  if total_of(newest) and entry_at(key, 0) < -HALF then return 1 end
  return 0
end

-- The clock was set back, and entries lie ahead of it. From now on they count as of now: none is forgotten, and nobody
-- waits for them longer than one window.
local function repair(key, row, length, newest, ahead_ms)
  local newest_time = time_of(newest)
  local first = first_younger(key, start_of(key, newest), length, newest_time, row.window_ms)
  local ahead = first_younger(key, first, length, newest_time, ahead_ms)
  local units = units_between(key, ahead, length, length, newest)
  local total
  if ahead == first then
    call('DEL', key)
  else
    call('LTRIM', key, 0, ahead - 1)
    if first > 0 then drop_before(key, first, newest) end
    total = total_of(entry_at(key, -1))
  end
  if total or units > 1 then total = (total or 0) + units end
  push(key, total)
  expire(key, row)
end

-- Whether the request fits, then what `settle` needs to know: the units that count, the list's length, the first index
-- that counts, the newest entry, and its age.
function log.read(key, row)
  local newest = entry_at(key, -1)
  if not newest then return row.cost <= row.limit, 0, 0, 0 end
  local length = call('LLEN', key)
  local newest_time = time_of(newest)
  local age_ms = (now_time - newest_time) % TIMES
  if age_ms > OLDEST_MS then
    repair(key, row, length, newest, TIMES - age_ms)
    return log.read(key, row)
  end
  local window_ms = row.window_ms
  local first = length
  if age_ms < window_ms then
    local reach_ms = window_ms - age_ms
    -- Mostly every request cost 1.
    if newest < HALF then
      first = 0
      if (newest - entry_at(key, 0)) % TIMES >= reach_ms then
        first = first_younger(key, 1, length, newest_time, reach_ms)
      end
      local live = length - first
      return live + row.cost <= row.limit, live, length, first, newest, age_ms
    end
    first = first_younger(key, start_of(key, newest), length, newest_time, reach_ms)
  end
  local live = units_between(key, first, length, length, newest)
  return live + row.cost <= row.limit, live, length, first, newest, age_ms
end

local function append(key, row, length, first, newest, age_ms)
  local total = first < length and total_of(newest)
  if first == length then
    if length > 0 then call('DEL', key) end
  elseif first > 0 then
    drop_before(key, first, newest)
  end
  if total or row.cost > 1 then total = (total or 0) + row.cost end
  push(key, total)
  if first == length or (now_ms - age_ms) / row.slack_ms < math.floor(now_ms / row.slack_ms) then expire(key, row) end
end

-- Requests that are refused must not make a log endless: beyond the limit, or what it held, the oldest units make room.
local function make_room(key, row, live)
  local newest, length = entry_at(key, -1), call('LLEN', key)
  local start = start_of(key, newest)
  local excess = units_between(key, start, length, length, newest) - math.max(row.limit, live)
  if excess <= 0 then return end
  if not total_of(newest) then
    call('LTRIM', key, excess, -1)
    return
  end
  local first = first_index(start, length, function(index)
    return units_between(key, start, index + 1, length, newest) > excess
  end)
  if not total_of(entry_at(key, first)) then
    call('LTRIM', key, first, -1)
    return
  end
  -- Part of this one may have to go: it goes to the base.
  local base = base_of(total_before(key, start, length) + excess)
  if first == 0 then
    call('LPUSH', key, base)
  else
    call('LTRIM', key, first - 1, -1)
    call('LSET', key, 0, base)
  end
end

-- Milliseconds until a request of this cost fits.
local function wait(key, row, live, length, first, newest)
  local excess = live + row.cost - row.limit
  if excess <= 0 or live == 0 then return 0 end
  local index = first + excess - 1
  if total_of(newest) then
    index = first_index(first, length - 1, function(middle)
      return units_between(key, first, middle + 1, length, newest) >= excess
    end)
  end
  local age_ms = (time_of(newest) - time_of(entry_at(key, math.min(index, length - 1)))) % TIMES
  return row.window_ms - age_ms - (now_ms - time_of(newest)) % TIMES
end

-- Records the request if it counts; returns the units remaining, the milliseconds until the quota is full again, and
-- those until a request of this cost would be admitted.
function log.settle(key, row, admitted, live, length, first, newest, age_ms)
  local recorded = admitted or row.count_rejected
  if recorded then
    append(key, row, length, first, newest, age_ms)
    if admitted and live + 2 * row.cost <= row.limit then return row.limit - live - row.cost, row.window_ms, 0 end
    if not admitted then make_room(key, row, live) end
    local _
    _, live, length, first, newest, age_ms = log.read(key, row)
  end
  if live == 0 then return row.limit, 0, 0 end
  return math.max(0, row.limit - live), row.window_ms - age_ms, wait(key, row, live, length, first, newest)
end
