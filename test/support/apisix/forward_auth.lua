-- A replay of the forward-auth plugin of APISIX 3.18, written from what its source does: GET requests only.
local core = require("apisix.core")
local http = require("resty.http")

local plugin = {}

local function check_headers(conf, ctx)
  local headers = {
    ["X-Forwarded-Proto"] = core.request.get_scheme(ctx),
    ["X-Forwarded-Method"] = core.request.get_method(),
    ["X-Forwarded-Host"] = core.request.get_host(ctx),
    ["X-Forwarded-Uri"] = ctx.var.request_uri,
    ["X-Forwarded-For"] = core.request.get_remote_client_ip(ctx),
  }
  for name, value in pairs(conf.extra_headers or {}) do
    headers[name] = core.utils.resolve_var(value, ctx.var)
  end
  for _, name in ipairs(conf.request_headers or {}) do
    headers[name] = headers[name] or core.request.header(ctx, name)
  end
  return headers
end

function plugin.access(conf, ctx)
  local client = http.new()
  client:set_timeout(conf.timeout)
  local answer = client:request_uri(conf.uri, {
    method = "GET",
    headers = check_headers(conf, ctx),
    keepalive_timeout = conf.keepalive_timeout or 60000,
    keepalive_pool = conf.keepalive_pool or 5,
  })
  if answer == nil then
    if conf.allow_degradation then return end
    return conf.status_on_error or 403
  end
  if answer.status >= 300 then
    for _, name in ipairs(conf.client_headers or {}) do ngx.header[name] = answer.headers[name] end
    return answer.status, answer.body
  end
  for _, name in ipairs(conf.upstream_headers or {}) do
    core.request.set_header(ctx, name, answer.headers[name])
  end
end

return plugin
