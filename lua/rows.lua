-- What the descriptors of a call are counted by, see ARGV in take.lua. The parts before this one have the algorithms.

local ALGORITHMS = { log = log, counter = counter, bucket = bucket }

local rows = {}
for i = 4, #ARGV, 6 do
  local algorithm = ALGORITHMS[ARGV[i]]
  local window_ms = tonumber(ARGV[i + 2])
  local slack_ms = math.ceil(window_ms / 16)
  rows[#rows + 1] = {
    read = algorithm.read,
    settle = algorithm.settle,
    limit = tonumber(ARGV[i + 1]),
    window_ms = window_ms,
    slack_ms = slack_ms,
    lifetime_text = string.format('%.0f', window_ms + slack_ms),
    burst = tonumber(ARGV[i + 3]),
    cost = tonumber(ARGV[i + 4]),
    count_rejected = ARGV[i + 5] == '1',
  }
end
