-- Sends one check to headgate, and answers the client if headgate denies the request.
--
--   http-request lua.headgate <address> <names>
--
--   <address>  where the calls go: the frontend `headgate_calls` of haproxy.cfg, which bounds how long one takes
--   <names>    the client's headers that headgate gets, separated by commas: x-api-key,cf-connecting-ip
--
-- Reads, if set:
--   txn.headgate_peer    the address of the peer before set-src; without it, `src`
--   txn.headgate_secret  the proxy secret
--
-- 200: sets txn.headgate to "allowed", and for the headers of the answer those of txn.headgate_limit, _remaining,
--      _reset, _mode, _rate and _rate_policy that it has; _limit_requests, _limit_tokens and so on with
--      `answers: { headers: openai }`. The request gets the answer's X-Headgate-Settle, with which
--      the application reports what the request turned out to cost. A client's own is always deleted.
-- 4xx: the client gets this answer, and the application never sees the request. Anything else sets nothing, and the
-- configuration decides about the unchecked request.

-- Headers of an allow, kept for the response.
local KEPT = {
  ["x-ratelimit-limit"] = "txn.headgate_limit",
  ["x-ratelimit-remaining"] = "txn.headgate_remaining",
  ["x-ratelimit-reset"] = "txn.headgate_reset",
  ["x-ratelimit-limit-requests"] = "txn.headgate_limit_requests",
  ["x-ratelimit-remaining-requests"] = "txn.headgate_remaining_requests",
  ["x-ratelimit-reset-requests"] = "txn.headgate_reset_requests",
  ["x-ratelimit-limit-tokens"] = "txn.headgate_limit_tokens",
  ["x-ratelimit-remaining-tokens"] = "txn.headgate_remaining_tokens",
  ["x-ratelimit-reset-tokens"] = "txn.headgate_reset_tokens",
  ["x-ratelimit-mode"] = "txn.headgate_mode",
  ["ratelimit"] = "txn.headgate_rate",
  ["ratelimit-policy"] = "txn.headgate_rate_policy",
}

-- Headers of a denial. The client gets no others, such as those of the connection to headgate.
local TOLD = {
  "Content-Type",
  "Cache-Control",
  "Retry-After",
  "Retry-After-Ms",
  "X-Should-Retry",
  "Vary",
  "X-RateLimit-Policy",
  "X-RateLimit-Decision-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Limit-Requests",
  "X-RateLimit-Remaining-Requests",
  "X-RateLimit-Reset-Requests",
  "X-RateLimit-Limit-Tokens",
  "X-RateLimit-Remaining-Tokens",
  "X-RateLimit-Reset-Tokens",
  "X-RateLimit-Mode",
  "RateLimit",
  "RateLimit-Policy",
  "Access-Control-Allow-Origin",
  "Access-Control-Allow-Credentials",
  "Access-Control-Expose-Headers",
}

-- In milliseconds. `headgate_calls` answers much earlier, unless HAProxy itself is overloaded.
local PATIENCE = 1000

local lists = {}

local function namesIn(list)
  if lists[list] == nil then
    local names = {}
    for name in list:gmatch("[^,%s]+") do
      names[#names + 1] = name:lower()
    end
    lists[list] = names
  end
  return lists[list]
end

-- HAProxy numbers the values of a header from 0 in requests, and from 1 in the answers of its HTTP client.
local function joined(values)
  if values == nil then return nil end
  local all = {}
  for i = values[0] and 0 or 1, #values do
    all[#all + 1] = values[i]
  end
  return table.concat(all, ", ")
end

local function question(txn, names)
  local sent = txn.http:req_get_headers()
  local headers = {}
  -- All values of a header. If there are two, headgate uses neither.
  for _, name in ipairs(names) do
    local value = joined(sent[name])
    if value ~= nil then headers[name] = { value } end
  end
  -- HAProxy's own headers come last and replace the client's, even without a value, whatever names are in the list.
  local function say(name, value)
    headers[name] = value and { value }
  end
  say("x-original-method", txn.f:method())
  -- As the client sent it, with scheme and host if it did: the application gets these too, and may find the path in
  -- another place than HAProxy.
  say("x-original-uri", txn.f:url())
  say("x-headgate-peer-ip", txn:get_var("txn.headgate_peer") or txn.f:src())
  say("x-headgate-client-ip", txn.f:src())
  say("x-headgate-secret", txn:get_var("txn.headgate_secret"))
  say("host", joined(sent["host"]) or "")
  -- On a reused connection HAProxy does not report to its client that the gateway closed it. The client would send the
  -- check again, and the request would count twice.
  say("connection", "close")
  return headers
end

local function keep(txn, answer)
  for name, variable in pairs(KEPT) do
    local value = joined(answer.headers[name])
    if value ~= nil then txn:set_var(variable, value) end
  end
  local token = joined(answer.headers["x-headgate-settle"])
  if token ~= nil then txn.http:req_set_header("X-Headgate-Settle", token) end
  txn:set_var("txn.headgate", "allowed")
end

local function deny(txn, answer)
  local reply = txn:reply({ status = answer.status, reason = answer.reason })
  for _, name in ipairs(TOLD) do
    local value = joined(answer.headers[name:lower()])
    if value ~= nil then reply:add_header(name, value) end
  end
  reply:set_body(answer.body)
  txn:done(reply)
end

local function headgate(txn, address, list)
  txn.http:req_del_header("X-Headgate-Settle")
  local answer = core.httpclient():get({
    url = "http://headgate/haproxy",
    dst = address,
    headers = question(txn, namesIn(list)),
    timeout = PATIENCE,
  })
  if answer.status == 200 then
    keep(txn, answer)
  elseif answer.status >= 400 and answer.status < 500 then
    deny(txn, answer)
  end
end

core.register_action("headgate", { "http-req" }, headgate, 2)
