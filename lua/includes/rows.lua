-- Reads how the descriptors of a batch are counted. Descriptors with the same quota and cost share one row.
--
-- ARGV[3]  two bytes per key that name its row: 32 + row % 64, then 32 + row / 64, rows counted from 0. The second byte
--          is 64 higher for the last descriptor of a request.
-- ARGV[4]  the first of the rows, each of six arguments:
--            algorithm: log, counter, bucket or fixed. A number may follow: with `bucket-1`, the key one before is the
--            previous name of the same client, and the bucket inherits its debt; `bucket+500` owes at least 500 units x
--            window_ms
--            limit in units
--            window, see window_at; only fixed windows have a calendar
--            burst in units
--            cost in units. 0 is a check, which takes nothing. Below 0 it is a refund, which always fits; no count goes
--            below 0
--            what rejected requests take, see includes/admitted-calls.lua: nothing (0), their cost (1), nothing from a
--            quota that may have charges (2), as a charge what is left (3), what it took in another slot (4)
--
--- @include "now"
--- @include "admitted-calls"
--- @include "sliding-window-log"
--- @include "sliding-window-counter"
--- @include "token-bucket"
--- @include "fixed-window"

-- Returns when the window starts, and its length. `window` is a length in milliseconds: windows start at its multiples
-- since the epoch. Or it is four ascending moments in milliseconds since the epoch, which the gateway finds by its own
-- clock: the start of the previous window, the start and the end of the current one, the end of the next. If this server's
-- clock is in none of the three, windows are as long as the nearest of them.
local function window_at(window)
  local length_ms = tonumber(window)
  if length_ms then return now_ms - now_ms % length_ms, length_ms end
  local previous, start, finish, last = string.match(window, '^(%d+) (%d+) (%d+) (%d+)$')
  previous, start, finish, last = tonumber(previous), tonumber(start), tonumber(finish), tonumber(last)
  if now_ms < start then
    start, finish = previous, start
  elseif now_ms >= finish then
    start, finish = finish, last
  end
  length_ms = finish - start
  return now_ms - (now_ms - start) % length_ms, length_ms
end

-- Each algorithm has three functions:
--
--   read(descriptor)              Returns whether the request fits. Leaves what it read in the descriptor's fields.
--   record(descriptor, admitted)  Follows `read`. Records the request if it was admitted or rejected requests count.
--                                 Returns the units remaining, the milliseconds until the quota is full again (of a
--                                 bucket, the debt), and the milliseconds until a request of this cost fits.
--
--   settle(descriptor, moment_ms, reserved, used)
--                                 Follows `read` in settle.lua, if `used` differs from `reserved`. Gives back what was
--                                 reserved at `moment_ms` and not used, where it still counts, or adds a surplus now.
--                                 Returns the units of a surplus that it left out; nil if there was nothing to give back.
--
-- A descriptor is a table with `key`, `row`, and the fields of its algorithm.
--
-- Only the algorithms that a row has are defined, because defining all of them takes longer than counting a request.
local algorithms = {}

-- Nil if there is no algorithm of this name.
local function algorithm_of(name)
  local algorithm = algorithms[name]
  if algorithm then return algorithm end
  if name == 'log' then
    algorithm = sliding_window_log()
  elseif name == 'counter' then
    algorithm = sliding_window_counter()
  elseif name == 'bucket' then
    algorithm = token_bucket()
  elseif name == 'fixed' then
    algorithm = fixed_window()
  end
  algorithms[name] = algorithm
  return algorithm
end

-- What admitted-calls.lua returns, if a row needs it; and whether a row is a charge that takes what is left.
local calls, has_charges

local rows = {}
for i = 4, #ARGV, 6 do
  local name, inherited = ARGV[i], 0
  local algorithm = algorithm_of(name)
  if not algorithm then
    name, inherited = string.match(name, '^(%a+)(.+)$')
    algorithm, inherited = algorithm_of(name), tonumber(inherited)
  end
  local start_ms, window_ms = window_at(ARGV[i + 2])
  local slack_ms = math.ceil(window_ms / 16)
  local cost, rejected = tonumber(ARGV[i + 4]), ARGV[i + 5]
  local enough = cost > 1 and cost or 1
  local row = {
    read = algorithm.read,
    record = algorithm.record,
    settle = algorithm.settle,
    limit = tonumber(ARGV[i + 1]),
    window_ms = window_ms,
    start_ms = start_ms,
    -- Since the current sixteenth of the window began. The time to live of a log is set at most once in each.
    since_sixteenth_ms = now_ms % slack_ms,
    lifetime_ms = window_ms + slack_ms,
    burst = tonumber(ARGV[i + 3]),
    cost = cost,
    -- Units that must be left, except in a fixed window.
    need = cost < 0 and -math.huge or enough,
    -- If fewer units are left afterwards, the reply says how long to wait.
    enough = enough,
    count_rejected = rejected == '1',
    -- The place of the previous name, counted from its own; of a bucket the least debt in units x window_ms.
    inherits_from = inherited < 0 and inherited,
    least_debt = inherited > 0 and inherited or 0,
  }
  if rejected ~= '0' and rejected ~= '1' then
    calls = calls or admitted_calls()
    row.notes_calls = cost >= 0 and rejected ~= '4'
    row.spends_call = rejected == '4'
    row.takes_remainder = cost > 0 and rejected == '3'
    row.is_counter = name == 'counter'
    has_charges = has_charges or row.takes_remainder
  end
  rows[#rows + 1] = row
end

local row_bytes, byte = ARGV[3], string.byte

-- The row of the key at `index`, and whether the request ends with this key.
local function row_at(index)
  local low, high = byte(row_bytes, 2 * index - 1, 2 * index)
  if high >= 96 then return rows[low - 31 + (high - 96) * 64], true end
  return rows[low - 31 + (high - 32) * 64], false
end
