-- Passages served to an organization from one knowledge base. Under `root`:
--   root                  sorted set: chunk, when it was last served
--   root:document:<id>    sorted set: '<revision>:<ordinal>', when it was last served
--   root:totals           hash: document, its passages in the version that served it last
--   root:documents        sorted set: document, its distinct passages; an upper bound within a shorter window
--   root:runs             sorted set: document, its longest run of neighbours; an upper bound too
-- Beside them, '<hash tag>:<epoch>:bases' is the set of knowledge bases of the epoch.
-- Nothing is removed before the longest window of the organization's plans has passed. Each plan counts its own window.

-- Number of adjacent ordinals around `ordinal` that `document` holds.
local function run_around(document, revision, ordinal)
  local run, down, up = 1, ordinal - 1, ordinal + 1
  while redis.call('ZSCORE', document, revision .. ':' .. down) do run, down = run + 1, down - 1 end
  while redis.call('ZSCORE', document, revision .. ':' .. up) do run, up = run + 1, up + 1 end
  return run
end

-- Counts one passage that was served at `at`; `kept` is the longest window in ms.
local function expose(root, at, kept, chunk, document, revision, ordinal, total)
  local key = root .. ':document:' .. document
  redis.call('ZADD', root, 'GT', at, chunk)
  redis.call('ZADD', key, 'GT', at, revision .. ':' .. ordinal)
  redis.call('PEXPIRE', key, kept)
  redis.call('HSET', root .. ':totals', document, total)
  redis.call('ZADD', root .. ':documents', redis.call('ZCARD', key), document)
  redis.call('ZADD', root .. ':runs', 'GT', run_around(key, revision, ordinal), document)
end

local function keep_exposure(root, kept)
  for _, suffix in ipairs({ '', ':totals', ':documents', ':runs' }) do redis.call('PEXPIRE', root .. suffix, kept) end
  local epoch, base = string.match(root, '^(.*):exposure:([^:]+)$')
  redis.call('SADD', epoch .. ':bases', base)
  redis.call('PEXPIRE', epoch .. ':bases', kept)
end

-- Forgets what was served before the longest window.
local function trim_exposure(root, oldest)
  redis.call('ZREMRANGEBYSCORE', root, '-inf', oldest)
end

-- Members of a document within a window, the length of their longest run, and the score of the oldest.
local function longest_run(key, since)
  local members = redis.call('ZRANGEBYSCORE', key, '(' .. since, '+inf')
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

-- Brings the upper bounds of a document down to what the longest window holds.
local function refresh_bounds(root, document, oldest)
  local key = root .. ':document:' .. document
  redis.call('ZREMRANGEBYSCORE', key, '-inf', oldest)
  local count = redis.call('ZCARD', key)
  if count == 0 then
    redis.call('ZREM', root .. ':documents', document)
    redis.call('ZREM', root .. ':runs', document)
    redis.call('HDEL', root .. ':totals', document)
  else
    redis.call('ZADD', root .. ':documents', count, document)
    redis.call('ZADD', root .. ':runs', longest_run(key, oldest), document)
  end
end

-- The key of a document that has reached a mark within the window since `since`, or nil.
local function document_at_mark(root, since, oldest, share, floor, run_mark)
  for _, document in ipairs(redis.call('ZRANGEBYSCORE', root .. ':documents', floor, '+inf')) do
    local key = root .. ':document:' .. document
    local mark = math.max(math.floor(share * tonumber(redis.call('HGET', root .. ':totals', document) or 0)), floor)
    if redis.call('ZCOUNT', key, '(' .. since, '+inf') >= mark then return key end
    if redis.call('ZCOUNT', key, '-inf', oldest) > 0 then refresh_bounds(root, document, oldest) end
  end
  for _, document in ipairs(redis.call('ZRANGEBYSCORE', root .. ':runs', run_mark, '+inf')) do
    local key = root .. ':document:' .. document
    if longest_run(key, since) >= run_mark then return key end
    if redis.call('ZCOUNT', key, '-inf', oldest) > 0 then refresh_bounds(root, document, oldest) end
  end
  return nil
end
