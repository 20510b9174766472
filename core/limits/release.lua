-- Reverses what `admit` charged. Mode "undo": the whole charge. Mode "refund": day, month, lease and idempotency key,
-- never the minute slot. Mode "end": only the lease. If the charge is gone or reversed already, only the lease ends.
-- KEYS: minute, leases, counts, charge, [idempotency]; ARGV: request id, mode
local minute, leases, counts, charge, idempotency = unpack(KEYS)
redis.call('ZREM', leases, ARGV[1])
if ARGV[2] == 'end' then return 1 end
local fields = redis.call('GET', charge)
if not fields then return 0 end
local day_field, month_field = string.match(fields, '^(%S+) (%S+)$')
redis.call('HINCRBY', counts, day_field, -1)
redis.call('HINCRBY', counts, month_field, -1)
redis.call('DEL', charge)
if ARGV[2] == 'undo' then redis.call('ZREM', minute, ARGV[1]) end
if idempotency and redis.call('GET', idempotency) == ARGV[1] then redis.call('DEL', idempotency) end
return 1
