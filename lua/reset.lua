-- Resets a counter whose units are settled later. Settlements of what was reserved until now must not change it any more, so
-- the moment is kept beside it.
--
-- KEYS[1]  the counter
-- KEYS[2]  its name with ":reset" at the end
-- ARGV[1]  now, milliseconds since the epoch; -1 reads the server's clock
-- ARGV[2]  how long settlements may come after a reservation, milliseconds
-- RETURNS  nothing
--
--- @include "now"

call('DEL', KEYS[1])
call('SET', KEYS[2], string.format('%.0f', now_ms), 'PX', ARGV[2])
