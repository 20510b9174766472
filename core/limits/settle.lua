-- Ends the lease of a request and adds the passages it served to the exposure of its organization.
-- Does nothing if the epoch is not in force: reply 0. The request must then be settled under the epoch in force.
-- KEYS: ready, leases, exposure, flags
-- ARGV: request id, epoch, exposure window ms, document share, document floor, run mark, document key prefix,
--       then for each passage: chunk id, document id, revision id, ordinal, passages of the document
local ready, leases, exposure, flags = unpack(KEYS)
local window_ms, document_share, document_floor = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local run_mark, prefix = tonumber(ARGV[6]), ARGV[7]
if redis.call('GET', ready) ~= ARGV[2] then return 0 end
redis.call('ZREM', leases, ARGV[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

for i = 8, #ARGV, 5 do
  local document, revision = prefix .. ARGV[i + 1], ARGV[i + 2]
  local ordinal, total = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
  redis.call('ZADD', exposure, now, ARGV[i])
  redis.call('ZADD', document, now, revision .. ':' .. ordinal)
  redis.call('PEXPIRE', document, window_ms)
  local run = 1
  local down, up = ordinal - 1, ordinal + 1
  while run < run_mark and redis.call('ZSCORE', document, revision .. ':' .. down) do run, down = run + 1, down - 1 end
  while run < run_mark and redis.call('ZSCORE', document, revision .. ':' .. up) do run, up = run + 1, up + 1 end
  local mark = math.max(math.floor(document_share * total), document_floor)
  if run >= run_mark or redis.call('ZCARD', document) >= mark then
    redis.call('HSET', flags, ARGV[i + 1], total)
    redis.call('PEXPIRE', flags, window_ms)
  end
end
if #ARGV >= 8 then redis.call('PEXPIRE', exposure, window_ms) end
return 1
