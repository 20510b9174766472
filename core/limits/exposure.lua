-- New passages served to an organization from one knowledge base in one environment. Under `root`:
--   root                  sorted set: chunk, when it was last served
--   root:days             hash: UTC day since 1970-01-01, new passages
--   root:document:<id>    hash: the same of one document; 'total': its passages in the version that served it last
--   root:documents        sorted set: document, its new passages; an upper bound within every window
--   root:reserved         hash: request under way, its top_k; 'total': their sum
-- Beside them, '<hash tag>:<epoch>:bases' is the set of '<environment>:<knowledge base>' of the epoch.
-- A passage is new unless it was served within the longest window of the organization's plans. Each plan sums its own
-- window of days, so no request changes what another plan sees.

local DAY_MS = 86400000

-- Keys are kept for up to so much longer than they must be, so that most requests write no time of expiry. The window
-- of days begins with a whole day.
local KEPT_LONGER_MS = 3600000

-- Documents with the most new passages, which are compared with their marks.
local DOCUMENTS_MAX = 64

local function is_kept(key, kept)
  return redis.call('PTTL', key) >= kept + DAY_MS
end

local function keep(key, kept)
  redis.call('PEXPIRE', key, kept + DAY_MS + KEPT_LONGER_MS)
end

-- Counts passages that were served at `at`; `kept` is the longest window in ms. `served` holds three values for each:
-- chunk, document, passages of the document.
local function expose(root, at, kept, served)
  local chunks, scores = {}, {}
  for i = 1, #served, 3 do
    chunks[#chunks + 1] = served[i]
    scores[#scores + 1], scores[#scores + 2] = at, served[i]
  end
  local last, seen, new, totals, count = redis.call('ZMSCORE', root, unpack(chunks)), {}, {}, {}, 0
  for n, chunk in ipairs(chunks) do
    if not seen[chunk] and not (last[n] and tonumber(last[n]) > at - kept) then
      local document = served[3 * n - 1]
      new[document], totals[document], count = (new[document] or 0) + 1, served[3 * n], count + 1
    end
    seen[chunk] = true
  end
  redis.call('ZADD', root, 'GT', unpack(scores))
  if count == 0 then return end
  local day = math.floor(at / DAY_MS)
  redis.call('HINCRBY', root .. ':days', day, count)
  for document, passages in pairs(new) do
    local key = root .. ':document:' .. document
    redis.call('HINCRBY', key, day, passages)
    redis.call('HSET', key, 'total', totals[document])
    if not is_kept(key, kept) then keep(key, kept) end
    redis.call('ZINCRBY', root .. ':documents', passages, document)
  end
end

-- New passages by day, and `total`.
local function days_of(key)
  local held, days = redis.call('HGETALL', key), {}
  for i = 1, #held, 2 do days[tonumber(held[i]) or held[i]] = tonumber(held[i + 1]) end
  return days
end

-- Removes days before the longest window. Returns the new passages of the others.
local function forget_days(key, days, oldest)
  local sum = 0
  for day, passages in pairs(days) do
    if type(day) == 'number' then
      if day < oldest then redis.call('HDEL', key, day) else sum = sum + passages end
    end
  end
  return sum
end

-- Forgets what was served before the longest window, and keeps the rest. All keys are kept when the first one is, so it
-- answers for the others.
local function keep_exposure(root, now, kept)
  if is_kept(root, kept) then return end
  redis.call('ZREMRANGEBYSCORE', root, '-inf', now - kept)
  forget_days(root .. ':days', days_of(root .. ':days'), math.floor((now - kept) / DAY_MS))
  for _, suffix in ipairs({ '', ':days', ':documents' }) do keep(root .. suffix, kept) end
  local epoch, base = string.match(root, '^(.*):exposure:(.+)$')
  redis.call('SADD', epoch .. ':bases', base)
  keep(epoch .. ':bases', kept)
end

-- `core/domain/exposure.ts` computes the same in Node.
local function level_of(days, today, window_days, daily)
  local level = 0
  for day = today - window_days, today do level = math.max(0, level - daily) + (days[day] or 0) end
  return level
end

-- The start of the first day, in ms, on which the exposure is below the mark.
local function opens_at(days, today, window_days, daily, mark)
  local day = today + 1
  while level_of(days, day, window_days, daily) >= mark do day = day + 1 end
  return day * DAY_MS
end

-- The documents at their mark with the time at which each opens; 0: when requests under way have ended, for which
-- `reserved` passages are held. Then a document for which the rate is lower, and until when.
-- `marks`: share, floor, daily share, daily floor, allowance, part of a mark from which the rate is lower.
local function documents_at_mark(root, today, window_days, oldest, marks, reserved)
  local share, floor, daily_share, daily_floor, allowance, soft_part = unpack(marks)
  local stopped, tightened = {}, nil
  local least = math.min(math.ceil(soft_part * (floor + allowance)), floor + allowance - reserved)
  local listed = redis.call('ZREVRANGEBYSCORE', root .. ':documents', '+inf', least, 'WITHSCORES', 'LIMIT', 0,
    DOCUMENTS_MAX)
  for i = 1, #listed, 2 do
    local document = listed[i]
    local key = root .. ':document:' .. document
    local days = days_of(key)
    local total = days.total or 0
    local mark = math.max(math.floor(share * total), floor) + allowance
    local daily = math.max(math.floor(daily_share * total), daily_floor)
    local level = level_of(days, today, window_days, daily)
    if level >= mark then
      stopped[#stopped + 1], stopped[#stopped + 2] = document, opens_at(days, today, window_days, daily, mark)
    elseif level + reserved >= mark then
      stopped[#stopped + 1], stopped[#stopped + 2] = document, 0
    end
    local soft = math.ceil(soft_part * mark)
    if not tightened and level >= soft then
      tightened = { document, opens_at(days, today, window_days, daily, soft) }
    end
    local sum = forget_days(key, days, oldest)
    if sum == 0 then
      redis.call('ZREM', root .. ':documents', document)
    elseif sum < tonumber(listed[i + 1]) then
      redis.call('ZADD', root .. ':documents', sum, document)
    end
  end
  return stopped, tightened
end
