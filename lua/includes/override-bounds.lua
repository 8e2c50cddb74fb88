-- The hash of overrides: its bounds, because other programs may write to it too and must not fill the memory of gateways,
-- and what its texts mean.

-- Bytes of a field and of a value. Gateways write neither longer ones.
local LONGEST_FIELD, LONGEST_VALUE = 512, 4096

local function is_override(field, value)
  return #field <= LONGEST_FIELD and #value <= LONGEST_VALUE
end

-- A removed override leaves a note that begins with a hyphen, or nothing.
local function is_removed(text)
  return text == '' or string.sub(text, 1, 1) == '-'
end
