-- For wrk: GETs with the next of many bearer tokens each time.
--   wrk -s tokens.lua URL -- FILE     one token per line
local tokens, at = {}, 0

function init(args)
  for line in io.lines(args[1]) do tokens[#tokens + 1] = "Bearer " .. line end
  wrk.headers["Accept"] = "application/json"
end

function request()
  at = at % #tokens + 1
  wrk.headers["Authorization"] = tokens[at]
  return wrk.format("GET")
end
