-- Passages served to an organization from one knowledge base. Under `root`:
--   root                  sorted set: chunk, when it was last served
--   root:document:<id>    sorted set: '<revision>:<ordinal>', when it was last served
--   root:totals           hash: document, its passages in the version that served it last
--   root:documents        sorted set: document, its distinct passages; an upper bound within a shorter window
--   root:runs             sorted set: document, its longest run of neighbours; an upper bound too
-- Beside them, '<hash tag>:<epoch>:bases' is the set of knowledge bases of the epoch.
-- Nothing is removed before the longest window of the organization's plans has passed. Each plan counts its own window.

-- Fields of one HMGET; Lua passes a bounded number of arguments.
local HMGET_MAX = 1000

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

-- Length of the longest run among `members` ('<revision>:<ordinal>') from index `first`.
local function longest_run(members, first)
  local positions, longest = {}, 0
  for i = first, #members do
    local revision, ordinal = string.match(members[i], '^(.*):(%d+)$')
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
    local members = redis.call('ZRANGE', key, 0, -1)
    redis.call('ZADD', root .. ':runs', longest_run(members, 1), document)
  end
end

-- When the oldest of the passages at or above a mark was served; they are fewer than the mark once it has left.
local function served_at(key, since, count, mark)
  local entry = redis.call('ZRANGEBYSCORE', key, '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', count - mark, 1)
  return tonumber(entry[2])
end

local function refresh_if_old(root, document, oldest)
  if redis.call('ZCOUNT', root .. ':document:' .. document, '-inf', oldest) > 0 then
    refresh_bounds(root, document, oldest)
  end
end

-- As `served_at` for a document whose passages reach the mark of their share, or nil. The upper bounds are compared
-- first, so most documents cost no command.
local function share_reached(root, since, oldest, share, floor)
  local listed = redis.call('ZRANGEBYSCORE', root .. ':documents', floor, '+inf', 'WITHSCORES')
  for i = 1, #listed, 2 * HMGET_MAX do
    local names = {}
    for j = i, math.min(i + 2 * HMGET_MAX - 2, #listed), 2 do names[#names + 1] = listed[j] end
    local totals = redis.call('HMGET', root .. ':totals', unpack(names))
    for k, document in ipairs(names) do
      local mark = math.max(math.floor(share * tonumber(totals[k] or 0)), floor)
      if tonumber(listed[i + 2 * k - 1]) >= mark then
        local key = root .. ':document:' .. document
        local count = redis.call('ZCOUNT', key, '(' .. since, '+inf')
        if count >= mark then return served_at(key, since, count, mark) end
        refresh_if_old(root, document, oldest)
      end
    end
  end
  return nil
end

-- The same for a run of neighbours: the first of the oldest passages without which no run reaches the mark.
local function run_reached(root, since, oldest, run_mark)
  for _, document in ipairs(redis.call('ZRANGEBYSCORE', root .. ':runs', run_mark, '+inf')) do
    local key = root .. ':document:' .. document
    local members = redis.call('ZRANGEBYSCORE', key, '(' .. since, '+inf')
    if longest_run(members, 1) >= run_mark then
      local low, high = 1, #members
      while low < high do
        local middle = math.floor((low + high) / 2)
        if longest_run(members, middle + 1) >= run_mark then low = middle + 1 else high = middle end
      end
      return tonumber(redis.call('ZSCORE', key, members[low]))
    end
    refresh_if_old(root, document, oldest)
  end
  return nil
end
