-- What the plugins and the functions of our file use of apisix.core, for NGINX with the Lua module.
local core = { request = {}, response = {}, utils = {}, table = {} }

function core.table.insert_tail(list, ...)
  for _, value in ipairs({ ... }) do table.insert(list, value) end
end

core.log = setmetatable({}, {
  __index = function(_, level)
    local number = ngx[level:upper()] or ngx.WARN
    return function(...) ngx.log(number, ...) end
  end,
})

core.schema = { check = function() return true end }
core.utils.check_https = function() end
core.utils.check_tls_bool = function() end

-- Values are computed from the configuration once for each request here, which is slower and otherwise the same.
core.lrucache = { plugin_ctx = function(_, _, _, create, ...) return create(...) end }
core.lrucache.new = function() return {} end

function core.utils.resolve_var(text, var)
  local resolved = text:gsub("%$([%w_.]+)", function(name) return tostring(var[name] or "") end)
  return resolved
end

function core.request.header(_, name)
  local value = ngx.req.get_headers()[name]
  return type(value) == "table" and value[1] or value
end

function core.request.set_header(_, name, value) ngx.req.set_header(name, value) end
core.request.get_method = ngx.req.get_method
function core.request.get_scheme(ctx) return ctx.var.scheme end
function core.request.get_host(ctx) return ctx.var.host end
function core.request.get_remote_client_ip(ctx) return ctx.var.remote_addr end

-- A table of headers, or name, value, name, value.
function core.response.set_header(first, ...)
  if type(first) == "table" then
    for name, value in pairs(first) do ngx.header[name] = value end
    return
  end
  local pairs_of = { first, ... }
  for i = 1, select("#", first, ...), 2 do ngx.header[pairs_of[i]] = pairs_of[i + 1] end
end

return core
