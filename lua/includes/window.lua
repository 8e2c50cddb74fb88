-- The window that contains this moment.
--
--- @include "now"

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
