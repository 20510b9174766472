-- Decides all limits of one request together and charges all of them or none. Idempotent by request id.
-- KEYS: ready, minute, leases, counts, charge, exposure, flags, [idempotency]
-- ARGV: request id, rate per minute, tightened rate, concurrency, day allowance, month allowance, lease ms,
--       exposure window ms, soft mark, hard mark, document share, document floor, run mark, document key prefix,
--       original request id if Postgres already has the idempotency key, else '', epoch
-- Reply: {status, now ms, day used, month used, minute used, retry after ms, rate in force, original request id}
local ready, minute, leases, counts, charge, exposure, flags, idempotency = unpack(KEYS)
local request = ARGV[1]
local rate, tightened, concurrency = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local day_allowance, month_allowance, lease_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local window_ms, soft, hard = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local document_share, document_floor = tonumber(ARGV[11]), tonumber(ARGV[12])
local run_mark, document_prefix = tonumber(ARGV[13]), ARGV[14]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- Days since 1970-01-01 to year * 12 + month (civil calendar, H. Hinnant's days-to-civil algorithm).
local function month_of(day)
  local z = day + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local mp = math.floor((5 * (doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))) + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  return (yoe + era * 400 + (month <= 2 and 1 or 0)) * 12 + month
end

local day = math.floor(now / 86400000)
local day_field, month_field = 'd' .. day, 'm' .. month_of(day)
local used = redis.call('HMGET', counts, day_field, month_field)
local day_used, month_used = tonumber(used[1] or 0), tonumber(used[2] or 0)
redis.call('ZREMRANGEBYSCORE', minute, '-inf', now - 60000)
local minute_used = redis.call('ZCARD', minute)

local function reply(status, retry_ms, original)
  return { status, now, day_used, month_used, minute_used, math.ceil(retry_ms or 0), rate, original or '' }
end

if redis.call('GET', ready) ~= ARGV[16] then return reply('epoch') end
if redis.call('EXISTS', charge) == 1 then return reply('admitted') end
if ARGV[15] ~= '' then return reply('conflict', 0, ARGV[15]) end
if idempotency then
  local original = redis.call('GET', idempotency)
  if original then return reply('conflict', 0, original) end
end
if month_used >= month_allowance then return reply('quota') end
if day_used >= day_allowance then return reply('quota') end

-- Exposure: the corpus as a whole, then each document that had reached a mark when it was last served.
redis.call('ZREMRANGEBYSCORE', exposure, '-inf', now - window_ms)
local served = redis.call('ZCARD', exposure)
local function opens_at(key, rank)
  local entry = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
  return entry[2] and math.max(1000, tonumber(entry[2]) + window_ms - now) or 1000
end
if served >= hard then return reply('exposure', opens_at(exposure, served - hard)) end
if served >= soft then rate = tightened end

local function longest_run(members)
  local positions, longest = {}, 0
  for _, member in ipairs(members) do
    local revision, ordinal = string.match(member, '^(.*):(%d+)$')
    positions[revision] = positions[revision] or {}
    positions[revision][tonumber(ordinal)] = true
  end
  for _, ordinals in pairs(positions) do
    for ordinal in pairs(ordinals) do
      if not ordinals[ordinal - 1] then
        local length = 1
        while ordinals[ordinal + length] do length = length + 1 end
        longest = math.max(longest, length)
      end
    end
  end
  return longest
end
local flagged = redis.call('HGETALL', flags)
for i = 1, #flagged, 2 do
  local document = document_prefix .. flagged[i]
  redis.call('ZREMRANGEBYSCORE', document, '-inf', now - window_ms)
  local members = redis.call('ZRANGE', document, 0, -1)
  local mark = math.max(math.floor(document_share * tonumber(flagged[i + 1])), document_floor)
  if #members >= mark or longest_run(members) >= run_mark then return reply('exposure', opens_at(document, 0)) end
  redis.call('HDEL', flags, flagged[i])
end

if minute_used >= rate then
  local entry = redis.call('ZRANGE', minute, minute_used - rate, minute_used - rate, 'WITHSCORES')
  return reply('rate', tonumber(entry[2]) + 60000 - now)
end
redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
if redis.call('ZCARD', leases) >= concurrency then return reply('concurrency', 1000) end

redis.call('ZADD', minute, now, request)
redis.call('PEXPIRE', minute, 61000)
redis.call('ZADD', leases, now + lease_ms, request)
redis.call('PEXPIRE', leases, lease_ms + 1000)
day_used = redis.call('HINCRBY', counts, day_field, 1)
month_used = redis.call('HINCRBY', counts, month_field, 1)
if day_used == 1 then redis.call('PEXPIRE', counts, 40 * 86400000) end
redis.call('SET', charge, day_field .. ' ' .. month_field, 'PX', 10 * 60000)
if idempotency then redis.call('SET', idempotency, request, 'PX', 10 * 60000) end
minute_used = minute_used + 1
return reply('admitted')
