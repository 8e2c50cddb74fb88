-- Charges of requests that are denied take what is left of their quotas: nothing where nothing is left.
--
--- @include "rows"

local function remainders()
  -- The cost of a charge that takes what is left. What it waits for stays the charge.
  local function row_of_remainder(row, units)
    return setmetatable({ cost = units }, { __index = row })
  end

  local function take_units(descriptor, units)
    local row = descriptor.row
    descriptor.taken = units
    if units == 0 then return end
    descriptor.row = row_of_remainder(row, units)
    row.record(descriptor, true)
    descriptor.row = row
    row.read(descriptor)
  end

  -- Takes what is left for the first `count` of these descriptors, which belong to a request that was denied. Both names of
  -- a client give the same.
  local function take_remainders(descriptors, count)
    for i = 1, count do
      local descriptor = descriptors[i]
      descriptor.taken, descriptor.later = nil, nil
      if descriptor.row.takes_remainder and descriptor.named_before then descriptor.named_before.later = descriptor end
    end
    for i = 1, count do
      local descriptor = descriptors[i]
      local row, later = descriptor.row, descriptor.later
      if row.takes_remainder and not descriptor.named_before then
        local left = row.record(descriptor, false)
        local left_later = later and later.row.record(later, false)
        local units = math.min(row.cost, left, left_later or left)
        -- The previous name knows all calls that the current one knows.
        if units > 0 and not calls.use(descriptor, left, true) then units = 0 end
        if units > 0 and later then calls.use(later, left_later, false) end
        take_units(descriptor, units)
        if later then take_units(later, units) end
      end
    end
  end

  return take_remainders
end
