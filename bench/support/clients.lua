-- 10,000 clients, one after the other, as a proxy reports them.
local client = 0
request = function()
  client = (client + 1) % 10000
  local address = string.format("10.%d.%d.7", math.floor(client / 250), client % 250)
  return wrk.format("GET", wrk.path, { ["x-headgate-client-ip"] = address, ["x-headgate-peer-ip"] = address })
end
