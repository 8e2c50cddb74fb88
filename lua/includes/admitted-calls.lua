-- How often a charge that does not fit may take what is left of a quota: once for each call that was admitted in the current
-- window or the one before, if the last call was admitted less than a window ago. Windows are aligned to the epoch. Without
-- this bound, denied calls would take every unit that becomes free, and no call would ever be admitted again.
--
-- Only quotas of the rate limit service have this: includes/rows.lua says which. Beside the key of such a quota there is
-- another, with ":calls" after its name and so in the same slot of a cluster. It is a STRING of about 20 bytes: the moment
-- of the last admitted call in milliseconds since the epoch, the calls of that moment's window for which no remainder was
-- taken yet, and the same of the window before. It is written by checks of 0, by charges, and by other admitted calls only
-- where it exists. It lives for three windows after that call, and at least for ten minutes.
--
-- KEYS has no such names. A script of a cluster may use them all the same, because they are in the slot of a key that KEYS
-- has.
--
--- @include "now"
--- @include "server"

local SHORTEST_LIFE_MS = 600000

local function admitted_calls()
  local function calls_key(descriptor)
    return descriptor.key .. ':calls'
  end

  local function calls_life_ms(row)
    return math.max(3 * row.window_ms, SHORTEST_LIFE_MS)
  end

  -- Redis formats the numbers in a command slowly, so it gets text.
  local function write_calls(descriptor, last_ms, current, previous)
    local value = string.format('%.0f %.0f %.0f', last_ms, current, previous)
    local life_ms = string.format('%.0f', last_ms + calls_life_ms(descriptor.row) - now_ms)
    call('SET', calls_key(descriptor), value, 'PX', life_ms)
  end

  -- Returns the moment of the last call, the calls of its window and of the one before, and the windows that have passed
  -- since. Returns nothing if no call is known. If the clock was set back, the last call counts as of now.
  local function read_calls(descriptor)
    local value = call('GET', calls_key(descriptor))
    if not value then return nil end
    local last_ms, current, previous = string.match(value, '^(%d+) (%d+) (%d+)$')
    last_ms = math.min(tonumber(last_ms), now_ms)
    if last_ms + calls_life_ms(descriptor.row) <= now_ms then return nil end
    local window_ms = descriptor.row.window_ms
    local passed = math.floor(now_ms / window_ms) - math.floor(last_ms / window_ms)
    return last_ms, tonumber(current), tonumber(previous), passed
  end

  -- Notes that a request was admitted, if a charge of the same key may need it.
  local function note(descriptor)
    local row = descriptor.row
    local last_ms, current, previous, passed = read_calls(descriptor)
    local before = descriptor.named_before
    descriptor.has_calls = last_ms ~= nil or row.cost == 0 or row.takes_remainder or (before and before.has_calls)
    if not last_ms then
      if descriptor.has_calls then write_calls(descriptor, now_ms, 1, 0) end
      return
    end
    if passed > 0 then
      previous = passed == 1 and current or 0
      current = 0
    end
    write_calls(descriptor, now_ms, current + 1, previous)
  end

  -- Whether a charge may take what is left, which uses an admitted call. `left` are the units that remain. `is_first` is false
  -- for the current name of a client, if the previous one decides.
  local function use(descriptor, left, is_first)
    local row = descriptor.row
    local last_ms, current, previous, passed = read_calls(descriptor)
    if not last_ms then
      -- Calls whose units are in use were admitted, and not noted.
      if left == row.burst and is_first then return false end
      write_calls(descriptor, now_ms, 0, 0)
      return true
    end
    local is_recent = now_ms < last_ms + row.window_ms
    if is_recent and passed == 0 and previous > 0 then
      previous = previous - 1
    elseif is_recent and current > 0 then
      current = current - 1
    elseif row.cost > row.burst and left == row.burst and current + previous > 0 and not row.is_counter then
      -- A response that took longer than a window may use up a whole quota, once for all calls that were admitted before. A
      -- counter is unused only two windows later, which would be too long for other calls.
      current, previous = 0, 0
    else
      return false
    end
    write_calls(descriptor, last_ms, current, previous)
    return true
  end

  return { note = note, use = use }
end
