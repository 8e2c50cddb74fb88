-- Runs the plugins of one route, as APISIX does: by phase, and in a phase by priority.
local route = {}

-- The plugin itself where test/support/apisix.ts was told where APISIX is, else its replay.
local function plugin_or_replay(name)
  local file = "apisix.plugins." .. name
  local found, plugin = pcall(require, file)
  if found then return plugin end
  return require(name:gsub("-", "_"))
end

local function serverless(conf)
  local functions = {}
  for i, text in ipairs(conf.functions) do functions[i] = assert(loadstring(text))() end
  return {
    [conf.phase] = function(_, ctx)
      for _, each in ipairs(functions) do
        local code, body = each(conf, ctx)
        if code then return code, body end
      end
    end,
  }
end

function route.new(plugins)
  return {
    { serverless(plugins["serverless-pre-function"]), {} },
    { plugin_or_replay("forward-auth"), plugins["forward-auth"] },
    { plugin_or_replay("response-rewrite"), plugins["response-rewrite"] },
    { serverless(plugins["serverless-post-function"]), {} },
  }
end

-- APISIX has the decoded path for `request_uri`.
local function context()
  local own = { real_request_uri = ngx.var.request_uri }
  own.request_uri = ngx.var.uri .. ngx.var.is_args .. (ngx.var.args or "")
  local var = setmetatable({}, { __index = function(_, name) return own[name] or ngx.var[name] end })
  return { var = var }
end

-- A table of texts without quotes.
local function json(texts)
  local fields = {}
  for name, text in pairs(texts) do table.insert(fields, ('"%s":"%s"'):format(name, text)) end
  return "{" .. table.concat(fields, ",") .. "}\n"
end

local function exit(code, body)
  ngx.status = code
  if type(body) == "table" then body = json(body) end
  if body ~= nil then ngx.print(body) end
  return ngx.exit(code)
end

function route.run(plugins, phase)
  ngx.ctx.api_ctx = ngx.ctx.api_ctx or context()
  for _, each in ipairs(plugins) do
    local plugin, conf = unpack(each)
    if plugin[phase] then
      local code, body = plugin[phase](conf, ngx.ctx.api_ctx)
      if code then return exit(code, body) end
    end
  end
end

return route
