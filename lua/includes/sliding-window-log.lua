-- Exact sliding window: a LIST with one entry per request, oldest first. A request counts while it is younger than the
-- window, so no interval of that length, wherever it starts, ever holds more than the limit.
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
--- @include "log-entries"
--- @include "log-search"
--- @include "log-totals"
--- @include "now"
--- @include "server"

-- 33 days. No key lives longer, so an entry that seems older lies in the future: the clock was set back.
local OLDEST_MS = 2851200000

local function sliding_window_log()
  local now_time = now_ms % TIMES
  local now_plain = plain_entry(now_time)

  -- Most calls need neither of these, and to define them takes longer than to count a request.
  local search, totals

  local function searching()
    search = search or log_search()
    return search
  end

  local function with_totals()
    totals = totals or log_totals(searching())
    return totals
  end

  local function read(descriptor)
    local key, row = descriptor.key, descriptor.row
    local newest = call('LINDEX', key, '-1')
    if not newest then
      descriptor.units, descriptor.length, descriptor.first, descriptor.newest = 0, 0, 0, nil
      return row.need <= row.limit
    end
    -- Arithmetic converts text faster than `tonumber`.
    newest = newest + 0
    local length = call('LLEN', key)
    local is_plain = newest < HALF
    local age_ms = (now_time - (is_plain and newest + HALF or newest)) % TIMES
    descriptor.length, descriptor.newest, descriptor.age_ms = length, newest, age_ms
    if age_ms > OLDEST_MS then
      with_totals().repair(descriptor, TIMES - age_ms)
      return read(descriptor)
    end
    local first, reach_ms = length, row.window_ms - age_ms
    local units
    if is_plain then
      -- The common case: every request cost 1.
      if reach_ms > 0 then
        first = 0
        if length > 1 and (newest - call('LINDEX', key, '0')) % TIMES >= reach_ms then
          first = searching().first_younger(descriptor, 1, reach_ms)
        end
      end
      units = length - first
    else
      local start = with_totals().start_of(descriptor)
      if reach_ms > 0 then first = searching().first_younger(descriptor, start, reach_ms) end
      units = with_totals().units_between(descriptor, first, length)
    end
    descriptor.first, descriptor.units = first, units
    return units + row.need <= row.limit
  end

  local function append(descriptor, units)
    local key, row, first, length = descriptor.key, descriptor.row, descriptor.first, descriptor.length
    local is_empty = first == length
    if is_empty then
      if length > 0 then call('DEL', key) end
    elseif first > 0 then
      if descriptor.newest < HALF then
        searching().trim_to(key, first)
      else
        with_totals().drop_before(descriptor, first)
      end
    end
    if units == 1 and (is_empty or descriptor.newest < HALF) then
      call('RPUSH', key, now_plain)
    else
      with_totals().push(descriptor, units)
    end
    if is_empty or descriptor.age_ms > row.since_sixteenth_ms then
      -- Redis formats the numbers in a command slowly, so it gets text.
      row.lifetime_text = row.lifetime_text or string.format('%.0f', row.lifetime_ms)
      call('PEXPIRE', key, row.lifetime_text)
    end
  end

  -- Milliseconds until a request of this cost fits. For a cost above the limit, until nothing counts.
  local function wait(descriptor)
    local row, first, newest = descriptor.row, descriptor.first, descriptor.newest
    local excess = descriptor.units + row.need - row.limit
    if excess <= 0 then return 0 end
    if descriptor.units == 0 then return row.window_ms end
    excess = math.min(excess, descriptor.units)
    local index = first + excess - 1
    if newest >= HALF then index = with_totals().index_of_unit(descriptor, excess) end
    local oldest = searching().entry_at(descriptor.key, math.min(index, descriptor.length - 1))
    return row.window_ms - (time_of(newest) - time_of(oldest)) % TIMES - descriptor.age_ms
  end

  local function record(descriptor, admitted)
    local row = descriptor.row
    if row.cost < 0 and admitted then
      with_totals().refund(descriptor, -row.cost)
      read(descriptor)
    elseif row.cost > 0 and (admitted or row.count_rejected) then
      if admitted then
        append(descriptor, row.cost)
        local remaining = row.limit - descriptor.units - row.cost
        if remaining >= row.cost then return remaining, row.window_ms, 0 end
      else
        local most = with_totals().most_units(descriptor)
        append(descriptor, math.min(row.cost, most))
        with_totals().evict_excess(descriptor)
      end
      read(descriptor)
    end
    if descriptor.units == 0 then return row.limit, 0, wait(descriptor) end
    return math.max(0, row.limit - descriptor.units), row.window_ms - descriptor.age_ms, wait(descriptor)
  end

  -- Removes a plain entry of that millisecond, one of them if there are several. Entries with totals stay: to take one out
  -- would change all that follow. Limits that refund count requests, so only another cost before a reload leaves totals.
  -- Nothing is charged afterwards in a log.
  local function settle(descriptor, moment_ms, reserved, used)
    if used > reserved then return used - reserved end
    local key, length, age_ms = descriptor.key, descriptor.length, now_ms - moment_ms
    if reserved ~= 1 or descriptor.first == length then return nil end
    local plain, index, row = moment_ms % TIMES - HALF, length - 1, descriptor.row
    if descriptor.newest ~= plain then
      index = searching().first_younger(descriptor, descriptor.first, age_ms - descriptor.age_ms + 1)
      if searching().entry_at(key, index) ~= plain then return nil end
    end
    call('LREM', key, 2 * index < length and '1' or '-1', plain_entry(plain + HALF))
    if age_ms == descriptor.age_ms and length > 1 then
      local newest_age_ms = (now_time - time_of(tonumber(call('LINDEX', key, '-1')))) % TIMES
      -- The time to live becomes that of the newest entry that is left, unless it is of the same sixteenth: see OLDEST_MS.
      if newest_age_ms > age_ms + moment_ms % (row.lifetime_ms - row.window_ms) then
        call('PEXPIRE', key, string.format('%.0f', row.lifetime_ms - newest_age_ms))
      end
    end
    return 0
  end

  return { read = read, record = record, settle = settle }
end
