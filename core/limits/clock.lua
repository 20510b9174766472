-- The clock of Redis, in ms since 1970-01-01. It alone names periods and ends windows.
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
