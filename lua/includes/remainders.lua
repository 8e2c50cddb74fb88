-- Charges that do not fit take what is left of their quotas: nothing where nothing is left.
--
--- @include "admitted-calls"

-- The cost of a charge that takes what is left. What it waits for stays the charge.
local function row_of_remainder(row, units)
  return setmetatable({ cost = units }, { __index = row })
end

-- Takes what is left for the first `count` of these descriptors, which belong to a request that was denied.
local function take_remainder(descriptors, count)
  local units, left = math.huge, {}
  for i = 1, count do
    local descriptor = descriptors[i]
    local row = descriptor.row
    if not row.takes_remainder then return end
    left[i] = row.settle(descriptor, false)
    units = math.min(units, row.cost, left[i])
  end
  if units <= 0 then return end
  local is_allowed = false
  for i = 1, count do
    if use_call(descriptors[i], left[i]) then is_allowed = true end
  end
  if not is_allowed then return end
  for i = 1, count do
    local descriptor = descriptors[i]
    local row = descriptor.row
    descriptor.row = row_of_remainder(row, units)
    row.settle(descriptor, true)
    descriptor.row = row
    row.read(descriptor)
  end
end
