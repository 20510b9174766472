-- Frees the exposure of an epoch that is not in force any more, a bounded part at a time.
-- KEYS: none; the names are given whole. ARGV: '<hash tag>:<epoch>', documents to free
-- Reply: 1 while something is left
local root, left = ARGV[1], tonumber(ARGV[2])
for _, base in ipairs(redis.call('SMEMBERS', root .. ':bases')) do
  local exposure = root .. ':exposure:' .. base
  local documents = redis.call('ZRANGE', exposure .. ':documents', 0, left - 1)
  for _, document in ipairs(documents) do
    redis.call('UNLINK', exposure .. ':document:' .. document)
    redis.call('ZREM', exposure .. ':documents', document)
  end
  left = left - #documents
  if left <= 0 then return 1 end
  redis.call('UNLINK', exposure, exposure .. ':days', exposure .. ':documents', exposure .. ':reserved')
  redis.call('SREM', root .. ':bases', base)
end
return 0
