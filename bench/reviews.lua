-- For wrk: POSTs of one body.
--   wrk -s reviews.lua URL -- FILE [MILLISECONDS]     the body; how long a connection waits between its requests
local pause

function init(args)
  local file = io.open(args[1], "rb")
  wrk.method = "POST"
  wrk.body = file:read("*a")
  wrk.headers["Content-Type"] = "application/json"
  pause = tonumber(args[2] or "0")
  file:close()
end

function delay()
  return pause
end
