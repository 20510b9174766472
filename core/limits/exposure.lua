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

-- Keys are kept for up to so much longer than they must be, so that most requests write no time of expiry.
local KEPT_LONGER_MS = 3600000

local function is_kept(key, kept)
  return redis.call('PTTL', key) >= kept
end

-- Number of adjacent ordinals around `ordinal` that `document` holds.
local function run_around(document, revision, ordinal)
  local near = redis.call('ZMSCORE', document, revision .. ':' .. ordinal - 1, revision .. ':' .. ordinal + 1)
  local run = 1
  for side, step in ipairs({ -1, 1 }) do
    local held, at = near[side], ordinal + step
    while held do
      run, at = run + 1, at + step
      held = redis.call('ZSCORE', document, revision .. ':' .. at)
    end
  end
  return run
end

-- Counts positions of one document, as '<revision>:<ordinal>', and adds its bounds where a position is new.
local function expose_document(key, document, at, kept, positions, counts, runs)
  local members = {}
  for _, position in ipairs(positions) do
    members[#members + 1] = at
    members[#members + 1] = position.revision .. ':' .. position.ordinal
  end
  local added = redis.call('ZADD', key, 'GT', unpack(members))
  if not is_kept(key, kept) then redis.call('PEXPIRE', key, kept + KEPT_LONGER_MS) end
  if added == 0 then return end
  counts[#counts + 1] = redis.call('ZCARD', key)
  counts[#counts + 1] = document
  for _, position in ipairs(positions) do
    runs[#runs + 1] = run_around(key, position.revision, position.ordinal)
    runs[#runs + 1] = document
  end
end

-- Counts passages that were served at `at`; `kept` is the longest window in ms. `served` holds five values for each:
-- chunk, document, revision, ordinal, passages of the document.
local function expose(root, at, kept, served)
  local chunks, totals, positions, documents = {}, {}, {}, {}
  for i = 1, #served, 5 do
    local chunk, document, revision, ordinal, total = unpack(served, i, i + 4)
    chunks[#chunks + 1], chunks[#chunks + 2] = at, chunk
    totals[#totals + 1], totals[#totals + 2] = document, total
    if not positions[document] then
      positions[document] = {}
      documents[#documents + 1] = document
    end
    table.insert(positions[document], { revision = revision, ordinal = tonumber(ordinal) })
  end
  redis.call('ZADD', root, 'GT', unpack(chunks))
  redis.call('HSET', root .. ':totals', unpack(totals))
  local counts, runs = {}, {}
  for _, document in ipairs(documents) do
    expose_document(root .. ':document:' .. document, document, at, kept, positions[document], counts, runs)
  end
  if #counts == 0 then return end
  redis.call('ZADD', root .. ':documents', unpack(counts))
  redis.call('ZADD', root .. ':runs', 'GT', unpack(runs))
end

-- Forgets what was served before the longest window, and keeps the rest. All keys are kept when the first one is, so it
-- answers for the others.
local function keep_exposure(root, now, kept)
  if is_kept(root, kept) then return end
  redis.call('ZREMRANGEBYSCORE', root, '-inf', now - kept)
  local longer = kept + KEPT_LONGER_MS
  for _, suffix in ipairs({ '', ':totals', ':documents', ':runs' }) do redis.call('PEXPIRE', root .. suffix, longer) end
  local epoch, base = string.match(root, '^(.*):exposure:([^:]+)$')
  redis.call('SADD', epoch .. ':bases', base)
  redis.call('PEXPIRE', epoch .. ':bases', longer)
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
