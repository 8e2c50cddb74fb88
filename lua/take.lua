-- Takes from exact sliding windows: for each request of a batch, from every descriptor or from none.
--
-- A descriptor's log is a LIST of the milliseconds at which its units were taken, oldest first. A unit counts while it
-- is younger than the window, so no stretch of that length, wherever it starts, ever holds more than the limit.
-- Requests are handled in their order; each sees what the ones before it took. A denial writes nothing.
--
-- KEYS     the descriptors' logs, request after request
-- ARGV[1]  now, milliseconds since the epoch; -1 reads the server's clock
-- ARGV[2]  then, request after request: the number of its descriptors,
--          and for each of them: limit in units, window in milliseconds, cost in units
-- RETURNS  now, then request after request: 1 if it was admitted, else 0,
--          and for each descriptor: units remaining, milliseconds until the quota is full again,
--          milliseconds until a request of this cost would be admitted

local call = redis.call
local PUSH_CHUNK = 1000

local function argument(index)
  local value = tonumber(ARGV[index])
  if value == nil then error('ARGV[' .. index .. '] is not a number') end
  return value
end

local function stamp_at(key, index)
  return tonumber(call('LINDEX', key, index))
end

-- The index of the first unit that is younger than the window: binary search, since a log may hold a million.
local function first_live(key, length, cutoff_ms)
  local low, high = 0, length
  while low < high do
    local middle = math.floor((low + high) / 2)
    if stamp_at(key, middle) <= cutoff_ms then low = middle + 1 else high = middle end
  end
  return low
end

-- What a descriptor's log holds now. Time never runs backwards within a key: after a step back of the clock, the
-- newest unit says what time it is.
local function read(key, window_ms, now_ms)
  local length = call('LLEN', key)
  if length == 0 then return { at_ms = now_ms, stale = 0, live = 0, newest_ms = now_ms - window_ms } end
  local newest_ms = stamp_at(key, -1)
  local at_ms = math.max(now_ms, newest_ms)
  local cutoff_ms = at_ms - window_ms
  local stale = 0
  if stamp_at(key, 0) <= cutoff_ms then stale = first_live(key, length, cutoff_ms) end
  return { at_ms = at_ms, stale = stale, live = length - stale, newest_ms = newest_ms }
end

-- Milliseconds until `excess` of the live units are over.
local function until_over(key, log, excess, window_ms, now_ms)
  if excess <= 0 then return 0 end
  return stamp_at(key, log.stale + excess - 1) + window_ms - now_ms
end

-- Numbers are written with %.0f: Lua's own conversion keeps 14 digits.
local function append(key, log, cost, window_ms, now_ms)
  if log.live == 0 and log.stale > 0 then
    call('DEL', key)
  elseif log.stale > 0 then
    call('LTRIM', key, log.stale, -1)
  end
  local stamp = string.format('%.0f', log.at_ms)
  local left = cost
  while left > 0 do
    local chunk = {}
    for i = 1, math.min(left, PUSH_CHUNK) do chunk[i] = stamp end
    call('RPUSH', key, unpack(chunk))
    left = left - #chunk
  end
  call('PEXPIRE', key, string.format('%.0f', log.at_ms - now_ms + window_ms))
  log.stale = 0
  log.live = log.live + cost
  log.newest_ms = log.at_ms
end

local now_ms = argument(1)
if now_ms < 0 then
  local time = call('TIME')
  now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local reply = { now_ms }
local key_index, arg_index = 0, 2
while arg_index <= #ARGV do
  local count = argument(arg_index)
  local descriptors = {}
  local admitted = true
  for i = 1, count do
    local base = arg_index + 3 * (i - 1)
    local descriptor = {
      key = KEYS[key_index + i],
      limit = argument(base + 1),
      window_ms = argument(base + 2),
      cost = argument(base + 3),
    }
    descriptor.log = read(descriptor.key, descriptor.window_ms, now_ms)
    if descriptor.log.live + descriptor.cost > descriptor.limit then admitted = false end
    descriptors[i] = descriptor
  end

  reply[#reply + 1] = admitted and 1 or 0
  for _, descriptor in ipairs(descriptors) do
    local key, log, window_ms = descriptor.key, descriptor.log, descriptor.window_ms
    if admitted then append(key, log, descriptor.cost, window_ms, now_ms) end
    reply[#reply + 1] = math.max(0, descriptor.limit - log.live)
    reply[#reply + 1] = math.max(0, log.newest_ms + window_ms - now_ms)
    local excess = log.live + descriptor.cost - descriptor.limit
    reply[#reply + 1] = until_over(key, log, excess, window_ms, now_ms)
  end

  key_index = key_index + count
  arg_index = arg_index + 1 + 3 * count
end

return reply
