-- Clients as a proxy reports them, one after the other, over all of them before the first comes again:
-- wrk -s clients.lua URL -- CLIENTS [PATHS]. With PATHS, /p/0 to /p/PATHS-1 are asked below the URL's path in turn.

-- Neighbours in time are no neighbours in memory. A prime, so that no count of clients leaves any out.
local STEP = 7919
local REQUEST = "GET %s HTTP/1.1\r\nHost: %s\r\nx-headgate-client-ip: %s\r\nx-headgate-peer-ip: %s\r\n\r\n"

local clients, paths, client, host

init = function(args)
  clients, paths = tonumber(args[1]), tonumber(args[2])
  host = wrk.headers["Host"]
  -- Rounds are too short for a million clients; each begins somewhere else.
  math.randomseed(os.time())
  client = math.random(clients) - 1
end

request = function()
  client = (client + STEP) % clients
  local address = string.format("10.%d.%d.%d", math.floor(client / 65536), math.floor(client / 256) % 256, client % 256)
  local path = paths and string.format("%sp/%05d", wrk.path, client % paths) or wrk.path
  return string.format(REQUEST, path, host, address, address)
end

-- For who wants to know how many were answered in time: "in time: 99.5" is percent within 200 ms.
done = function(_, latency)
  local share = 100
  while share > 0 and latency:percentile(share) > 200000 do share = share - 0.5 end
  io.write(string.format("in time: %.1f\n", share))
end
