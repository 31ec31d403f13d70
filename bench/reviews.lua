-- For wrk: POSTs of one body.
--   wrk -s reviews.lua URL -- FILE
function init(args)
  local file = io.open(args[1], "rb")
  wrk.method = "POST"
  wrk.body = file:read("*a")
  wrk.headers["Content-Type"] = "application/json"
  file:close()
end
