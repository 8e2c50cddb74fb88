-- Finds entries of a sliding window log by their index, their age, or any other property that later entries have, too.
--
--- @include "log-entries"
--- @include "server"

local function log_search()
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

  return {
    text_of = text_of,
    entry_at = entry_at,
    trim_to = trim_to,
    first_index = first_index,
    first_younger = first_younger,
  }
end
