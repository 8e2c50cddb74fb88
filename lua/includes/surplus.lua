-- What a request took more than it had reserved.

-- The most units x window_ms that surpluses make a counter or a bucket hold: sums of two such numbers are exact.
local MOST_SETTLED = 4503599627370496

-- The units of a surplus that count: the limit at most, and no more than there is `space` for.
local function surplus_units(row, units, space)
  return math.max(0, math.min(units, row.limit, math.floor(space)))
end
