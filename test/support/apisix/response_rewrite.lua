-- A replay of the response-rewrite plugin of APISIX 3.18: headers to set and to remove, if one variable matches.
local core = require("apisix.core")

local plugin = {}

local function applies(conditions, var)
  for _, condition in ipairs(conditions or {}) do
    local name, operator, pattern = unpack(condition)
    assert(operator == "~~", "the replay knows ~~ alone")
    local value = var[name]
    if value == nil or not ngx.re.find(value, pattern, "jo") then return false end
  end
  return true
end

function plugin.header_filter(conf, ctx)
  if not applies(conf.vars, ctx.var) then return end
  for name, value in pairs(conf.headers.set or {}) do
    ngx.header[name] = core.utils.resolve_var(value, ctx.var)
  end
  for _, name in ipairs(conf.headers.remove or {}) do ngx.header[name] = nil end
end

return plugin
