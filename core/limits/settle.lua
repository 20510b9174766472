-- Ends a charged request in the epoch in force. The lease is the proof of the charge: without it nothing changes.
--   deliver   the request stays charged, and what it served counts as exposure
--   fail      the request stays charged
--   refund    day, month and the Idempotency-Key are free again, the minute slot never
--   undo      everything is as before the charge, if that was in the epoch in force
-- An end of a reservation other than an undo comes after its commit, which is noted beside Postgres.
-- KEYS: epoch, confirmed
-- ARGV: hash tag, request id, mode, entitlement id, '<environment>:<knowledge base id>', lease ms, suffix of the held
--       key or '', epoch of the charge to undo or '', key of stops after the hash tag and epoch,
--       document whose mark stopped the reply or '', when it opens in ms, then for each passage: chunk id, document id, passages of the
--       document
-- Reply: {whether an epoch is in force}, after an undo also {day used, month used, minute used}
local STOP_FIRST_MS, STOP_MAX_MS, STOPS_KEPT_MS = 10000, 3600000, 3600000

-- The first stop closes nothing. Each further one within an hour of the last, or of what it closed, closes for twice
-- as long.
local function stop(key, now, document, opens)
  local count = redis.call('HINCRBY', key, 'count', 1)
  local closed_ms = count == 1 and 0 or math.min(STOP_FIRST_MS * 2 ^ (count - 2), STOP_MAX_MS)
  redis.call('HSET', key, 'until', now + closed_ms, 'document', document, 'opens', opens)
  redis.call('PEXPIRE', key, closed_ms + STOPS_KEPT_MS)
end

local in_force = redis.call('HMGET', KEYS[1], 'epoch', 'window')
if not in_force[1] then return { 0 } end
local request, mode = ARGV[2], ARGV[3]
local root = ARGV[1] .. ':' .. in_force[1]
local entitlement = root .. ':entitlement:' .. ARGV[4]
local minute, leases, counts = entitlement .. ':minute', entitlement .. ':leases', entitlement .. ':counts'
local deadline = tonumber(redis.call('ZSCORE', leases, request) or 0)
-- The request was charged again under this epoch; the charge to undo is of an epoch that is never read again.
if mode == 'undo' and ARGV[8] ~= in_force[1] then deadline = 0 end

if deadline > 0 then
  local admitted = deadline - tonumber(ARGV[6])
  redis.call('ZREM', leases, request)
  redis.call('ZREM', root .. ':deadlines', request)
  if mode ~= 'undo' and admitted > tonumber(redis.call('HGET', KEYS[2], 'ms') or 0) then
    redis.call('HSET', KEYS[2], 'id', request, 'ms', admitted)
  end
  local reserved = root .. ':exposure:' .. ARGV[5] .. ':reserved'
  local left = redis.call('HINCRBY', reserved, 'total', 0 - tonumber(redis.call('HGET', reserved, request) or 0))
  redis.call('HDEL', reserved, request)
  if left == 0 then redis.call('DEL', reserved) end
  if ARGV[10] ~= '' then stop(root .. ':' .. ARGV[9], now_ms(), ARGV[10], ARGV[11]) end
  if mode == 'refund' or mode == 'undo' then
    local day_field, month_field = periods_of(admitted)
    redis.call('HINCRBY', counts, day_field, -1)
    redis.call('HINCRBY', counts, month_field, -1)
    if mode == 'undo' then redis.call('ZREM', minute, request) end
    local held = root .. ':' .. ARGV[7]
    if ARGV[7] ~= '' and redis.call('GET', held) == request then redis.call('DEL', held) end
  elseif mode == 'deliver' and #ARGV > 11 then
    local exposure, kept = root .. ':exposure:' .. ARGV[5], tonumber(in_force[2])
    expose(exposure, admitted, kept, { unpack(ARGV, 12) })
    keep_exposure(exposure, admitted, kept)
  end
end
if mode ~= 'undo' then return { 1 } end
local used = redis.call('HMGET', counts, periods_of(now_ms()))
return { 1, tonumber(used[1] or 0), tonumber(used[2] or 0), redis.call('ZCARD', minute) }
