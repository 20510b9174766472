-- Decides all limits of one request together and charges all of them or none. Idempotent by request id.
-- KEYS: epoch, deadlines, minute, leases, counts, lookups, exposure, confirmed, stops,
--       [held key]
-- ARGV: request id, epoch, rate per minute, tightened rate, concurrency, day allowance, month allowance, lease ms,
--       hold ms, looks per minute, exposure window in days, hard mark of the corpus, its soft mark, its daily part,
--       then what `documents_at_mark` takes, top_k
-- Reply: {status, now ms, day used, month used, minute used, retry after ms, rate in force, may look up,
--        {document at its mark, when it opens in ms, …; of a refusal for exposure the one it is for, '' for all}, {id, ms, seq, hash of what is confirmed}}
local epoch, deadlines, minute, leases, counts, lookups, exposure, confirmed, stops, held =
  unpack(KEYS)
local request = ARGV[1]
local rate, tightened, concurrency = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local day_allowance, month_allowance, lease_ms = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local window_days, mark, soft, daily = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local window_ms, document_marks, stopped = window_days * DAY_MS, {}, {}
for i = 15, 20 do document_marks[#document_marks + 1] = tonumber(ARGV[i]) end

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
    if asked <= tonumber(ARGV[10]) then may_look_up = 1 end
  end
  return { status, now, day_used, month_used, minute_used, math.ceil(retry_ms or 0), rate, may_look_up, stopped,
    redis.call('HMGET', confirmed, 'id', 'ms', 'seq', 'hash') }
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

local today, days = math.floor(now / DAY_MS), days_of(exposure .. ':days')
local level = level_of(days, today, window_days, daily)
if level >= mark then
  stopped = { '', opens_at(days, today, window_days, daily, mark) }
  return reply('exposure', stopped[2] - now)
end
-- Stops that were found after the work close admission for a while.
local closed = redis.call('HMGET', stops, 'until', 'document', 'opens')
if tonumber(closed[1] or 0) > now then
  stopped = { closed[2], tonumber(closed[3]) }
  return reply('exposure', tonumber(closed[1]) - now)
end
local reserved = exposure .. ':reserved'
local held_passages = tonumber(redis.call('HGET', reserved, 'total') or 0)
-- Nor may they take a document to the least mark that one has.
if level + held_passages >= mark or held_passages >= document_marks[2] + document_marks[5] then
  return reply('concurrency', 1000)
end
local oldest = math.floor((now - tonumber(in_force[2])) / DAY_MS)
local slowed
stopped, slowed = documents_at_mark(exposure, today, window_days, oldest, document_marks, held_passages)
if level >= soft then slowed = { '', opens_at(days, today, window_days, daily, soft) } end
if slowed then rate = tightened end

if minute_used >= rate then
  local entry = redis.call('ZRANGE', minute, minute_used - rate, minute_used - rate, 'WITHSCORES')
  stopped = slowed or {}
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
if held then redis.call('SET', held, request, 'PX', ARGV[9]) end
redis.call('HSET', reserved, request, ARGV[21])
redis.call('HINCRBY', reserved, 'total', ARGV[21])
redis.call('PEXPIRE', reserved, 40 * 86400000)
minute_used = minute_used + 1
return reply('admitted')
