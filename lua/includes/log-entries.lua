-- The entries of a sliding window log: a LIST with one entry per request, oldest first.
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

local TIMES = 4294967296
local HALF = 2147483648
-- More than twice the largest limit. With a time in its low 32 bits, a total is still a number that Lua holds exactly.
local TOTALS = 2097151

-- The time of a plain or totalled entry.
local function time_of(entry)
  if entry < HALF then return entry + HALF end
  return entry % TIMES
end

-- Other numbers are written with %.0f, which is slower: Lua's own conversion keeps only 14 digits, and %d may keep 32 bits.
local function plain_entry(time)
  return string.format('%d', time - HALF)
end
