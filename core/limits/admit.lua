-- Decides all limits of one request together and charges all of them or none. Idempotent by request id.
-- KEYS: epoch, deadlines, minute, leases, counts, lookups, exposure, [held key]
-- ARGV: request id, epoch, rate per minute, tightened rate, concurrency, day allowance, month allowance, lease ms,
--       exposure window ms, soft mark, hard mark, document share, document floor, run mark, hold ms,
--       looks per minute
-- Reply: {status, now ms, day used, month used, minute used, retry after ms, rate in force, may look up}
local epoch, deadlines, minute, leases, counts, lookups, exposure, held = unpack(KEYS)
local request = ARGV[1]
local rate, tightened, concurrency = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local day_allowance, month_allowance, lease_ms = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local window_ms, soft, hard = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local document_share, document_floor, run_mark = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])

local now = now_ms()
local day_field, month_field = periods_of(now)
local used = redis.call('HMGET', counts, day_field, month_field)
local day_used, month_used = tonumber(used[1] or 0), tonumber(used[2] or 0)
redis.call('ZREMRANGEBYSCORE', minute, '-inf', now - 60000)
local minute_used = redis.call('ZCARD', minute)

local function reply(status, retry_ms)
  local may_look_up = 0
  if held and (status == 'quota' or status == 'exposure' or status == 'rate' or status == 'concurrency') then
    -- Looks of refused requests are bounded, so refusals stay cheap.
    local asked = redis.call('INCR', lookups)
    if asked == 1 then redis.call('PEXPIRE', lookups, 60000) end
    if asked <= tonumber(ARGV[16]) then may_look_up = 1 end
  end
  return { status, now, day_used, month_used, minute_used, math.ceil(retry_ms or 0), rate, may_look_up }
end

local in_force = redis.call('HMGET', epoch, 'epoch', 'window')
if in_force[1] ~= ARGV[2] or tonumber(in_force[2]) < window_ms then return reply('stale') end
if redis.call('ZSCORE', leases, request) then return reply('admitted') end
-- A lease past its deadline belongs to a request whose settlement never arrived. What the organization was charged and
-- served is uncertain then, for every entitlement, because they share the exposure.
local nearest = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')
if nearest[2] and tonumber(nearest[2]) <= now then return reply('overdue') end
if held and redis.call('EXISTS', held) == 1 then return reply('held') end
if month_used >= month_allowance or day_used >= day_allowance then return reply('quota') end

local since, oldest = now - window_ms, now - tonumber(in_force[2])
local served = redis.call('ZCOUNT', exposure, '(' .. since, '+inf')
local function opens_in(entry)
  return entry[2] and math.max(1000, tonumber(entry[2]) + window_ms - now) or 1000
end
if served >= hard then
  local entry = redis.call('ZRANGEBYSCORE', exposure, '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', served - hard, 1)
  return reply('exposure', opens_in(entry))
end
if served >= soft then rate = tightened end
local leaves = share_reached(exposure, since, oldest, document_share, document_floor)
  or run_reached(exposure, since, oldest, run_mark)
if leaves then return reply('exposure', math.max(1000, leaves + window_ms - now)) end

if minute_used >= rate then
  local entry = redis.call('ZRANGE', minute, minute_used - rate, minute_used - rate, 'WITHSCORES')
  return reply('rate', tonumber(entry[2]) + 60000 - now)
end
local leased = redis.call('ZCARD', leases)
if leased >= concurrency then return reply('concurrency', 1000) end

redis.call('ZADD', minute, now, request)
redis.call('PEXPIRE', minute, 61000)
redis.call('ZADD', leases, now + lease_ms, request)
redis.call('ZADD', deadlines, now + lease_ms, request)
day_used = redis.call('HINCRBY', counts, day_field, 1)
month_used = redis.call('HINCRBY', counts, month_field, 1)
-- A key that is new, and each of them once a day: all of them outlive the month.
if day_used == 1 then redis.call('PEXPIRE', counts, 40 * 86400000) end
if day_used == 1 or leased == 0 then redis.call('PEXPIRE', leases, 40 * 86400000) end
if day_used == 1 or not nearest[1] then redis.call('PEXPIRE', deadlines, 40 * 86400000) end
if held then redis.call('SET', held, request, 'PX', ARGV[15]) end
minute_used = minute_used + 1
return reply('admitted')
