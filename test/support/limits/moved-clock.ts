/** The clock of Redis, moved by the milliseconds that this key holds: Lua text for `openCounters`. */
export const CLOCK_KEY = 'test:clock'
export const MOVED_CLOCK = `
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    + tonumber(redis.call('GET', '${CLOCK_KEY}') or 0)
end
`
