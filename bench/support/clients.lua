-- Checks as a proxy sends them: wrk -s clients.lua URL -- CLIENTS [PATHS [TRACEPARENT [throttlecrab]]]. Every client has its turn
-- before the first comes again. With PATHS above 0, /p/00000 and so on are requested below the URL's path in turn. Every request has an id of its
-- own, as the files of deploy/ make proxies send it.

-- Neighbours in time are no neighbours in memory. It is a prime, so that every count of clients is covered.
local STEP = 7919
local REQUEST = "GET %s HTTP/1.1\r\nHost: %s\r\nx-headgate-client-ip: %s\r\nx-headgate-peer-ip: %s\r\n"
  .. "x-headgate-request-id: %s-%012d\r\n%s\r\n"
-- What throttlecrab is asked instead.
local THROTTLE = '{"key":"%s","max_burst":1000000,"count_per_period":1000000,"period":3600}'
local POST = "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"

local clients, paths, client, host, run, throttles
local more = ""
local sent = 0

init = function(args)
  clients, paths = tonumber(args[1]), tonumber(args[2])
  throttles = args[4] == "throttlecrab"
  if args[3] and args[3] ~= "" then more = "traceparent: " .. args[3] .. "\r\n" end
  host = wrk.headers["Host"]
  -- Rounds are too short for a million clients, so each begins with another one.
  local seconds, micros = os.time(), os.clock() * 1000000
  math.randomseed(seconds)
  client = math.random(clients) - 1
  run = string.format("%08x-%04x-4000-8000", seconds % 4294967296, micros % 65536)
end

request = function()
  client = (client + STEP) % clients
  sent = sent + 1
  local address = string.format("10.%d.%d.%d", math.floor(client / 65536), math.floor(client / 256) % 256, client % 256)
  if throttles then
    local body = string.format(THROTTLE, address)
    return string.format(POST, wrk.path, host, #body, body)
  end
  local path = paths and paths > 0 and string.format("%sp/%05d", wrk.path, client % paths) or wrk.path
  return string.format(REQUEST, path, host, address, address, run, sent, more)
end

-- "in time: 99.5" is the percentage of answers within 200 ms. wrk gives microseconds.
done = function(_, latency)
  local share = 100
  while share > 0 and latency:percentile(share) > 200000 do share = share - 0.5 end
  io.write(string.format("in time: %.1f\n", share))
  io.write(string.format('latency: {"p50Ms":%.3f,"p90Ms":%.3f,"p99Ms":%.3f,"p999Ms":%.3f,"maxMs":%.3f}\n',
    latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000,
    latency:percentile(99.9) / 1000, latency.max / 1000))
end
