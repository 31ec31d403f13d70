-- For wrk: POSTs of one body.
--   wrk -s reviews.lua URL -- FILE [MILLISECONDS]     the body; how long a connection waits between its requests, on average:
--   each time another while, or the connections would soon all ask at the same moment
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
  return pause > 0 and math.random(1, 2 * pause - 1) or 0
end
