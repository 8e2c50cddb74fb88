-- A small HTTP client in place of lua-resty-http: GET, one header of each name, a body with a length.
local client = {}
client.__index = client

function client.new() return setmetatable({ socket = ngx.socket.tcp() }, client) end

function client:set_timeout(milliseconds) self.socket:settimeout(milliseconds) end

local function request_text(path, host, params)
  local lines = { params.method .. " " .. path .. " HTTP/1.1", "Host: " .. host }
  for name, value in pairs(params.headers) do
    -- lua-resty-http refuses to send these.
    if value:find("[%z\1-\8\10-\31\127]") then return nil end
    table.insert(lines, name .. ": " .. value)
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

local function read_answer(socket)
  local line = socket:receive("*l")
  local status = line and tonumber(line:match("^HTTP/1%.1 (%d%d%d)"))
  if status == nil then return nil end
  local fields = {}
  repeat
    line = socket:receive("*l")
    if line == nil then return nil end
    local name, value = line:match("^([^:]+):%s*(.*)$")
    if name ~= nil then fields[name:lower()] = value end
  until line == ""
  local length = tonumber(fields["content-length"] or 0)
  local body = length == 0 and "" or socket:receive(length)
  if body == nil then return nil end
  local headers = setmetatable({}, { __index = function(_, name) return fields[name:lower()] end })
  return { status = status, headers = headers, body = body, closes = fields.connection == "close" }
end

function client:request_uri(uri, params)
  local host, port, path = uri:match("^http://([^:/]+):(%d+)(/.*)$")
  local text = request_text(path, host .. ":" .. port, params)
  if text == nil or not self.socket:connect(host, tonumber(port)) then return nil end
  local answer = self.socket:send(text) and read_answer(self.socket)
  if not answer then
    self.socket:close()
    return nil
  end
  if answer.closes then self.socket:close()
  else self.socket:setkeepalive(params.keepalive_timeout, params.keepalive_pool) end
  return answer
end

return client
