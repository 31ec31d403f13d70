-- For wrk: creates ConfigMaps with names nobody has used before.
--   wrk -s create.lua URL -- PREFIX BYTES [HOW MANY]
-- With HOW MANY it ends when that many were created: wrk's own end is a matter of time alone.
local sent, answered, limit = 0, 0, nil
local prefix, value

function init(args)
  prefix = args[1]
  value = string.rep("x", tonumber(args[2]))
  limit = tonumber(args[3])
  wrk.headers["Content-Type"] = "application/json"
  if limit then
    response = function(status)
      if status ~= 201 then os.exit(1) end
      answered = answered + 1
      if answered >= limit then os.exit(0) end
    end
  end
end

function request()
  sent = sent + 1
  return wrk.format("POST", nil, nil,
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"' .. prefix .. '-' .. sent .. '"},"data":{"value":"' .. value .. '"}}')
end
