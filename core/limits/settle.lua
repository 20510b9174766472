-- Ends a charged request in the epoch in force. The lease is the proof of the charge: without it nothing changes.
--   deliver   the request stays charged, and what it served counts as exposure
--   fail      the request stays charged
--   refund    day, month and the Idempotency-Key are free again, the minute slot never
--   undo      everything is as before the charge, if that was in the epoch in force
-- KEYS: epoch
-- ARGV: hash tag, request id, mode, entitlement id, '<environment>:<knowledge base id>', lease ms, suffix of the held
--       key or '', epoch of the charge to undo or '', then for each passage: chunk id, document id, passages of the
--       document
-- Reply: {whether an epoch is in force}, after an undo also {day used, month used, minute used}
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
  if mode == 'refund' or mode == 'undo' then
    local day_field, month_field = periods_of(admitted)
    redis.call('HINCRBY', counts, day_field, -1)
    redis.call('HINCRBY', counts, month_field, -1)
    if mode == 'undo' then redis.call('ZREM', minute, request) end
    local held = root .. ':' .. ARGV[7]
    if ARGV[7] ~= '' and redis.call('GET', held) == request then redis.call('DEL', held) end
  elseif mode == 'deliver' and #ARGV > 8 then
    local exposure, kept = root .. ':exposure:' .. ARGV[5], tonumber(in_force[2])
    expose(exposure, admitted, kept, { unpack(ARGV, 9) })
    keep_exposure(exposure, admitted, kept)
  end
end
if mode ~= 'undo' then return { 1 } end
local used = redis.call('HMGET', counts, periods_of(now_ms()))
return { 1, tonumber(used[1] or 0), tonumber(used[2] or 0), redis.call('ZCARD', minute) }
