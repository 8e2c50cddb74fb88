-- Bounds of the hash of overrides. Other programs may write to it too, and must not fill the memory of gateways.

-- Bytes of a field and of a value. Gateways write neither longer ones.
local LONGEST_FIELD, LONGEST_VALUE = 512, 4096

local function is_override(field, value)
  return #field <= LONGEST_FIELD and #value <= LONGEST_VALUE
end
