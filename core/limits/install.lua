-- Adds passages to the exposure of an epoch that is not in force yet.
-- KEYS: none; the names are given whole. ARGV: kept ms, then for each passage: exposure key, served at ms, chunk id,
--       document id, revision id, ordinal, passages of the document
local kept, roots = tonumber(ARGV[1]), {}
for i = 2, #ARGV, 7 do
  roots[ARGV[i]] = true
  expose(ARGV[i], ARGV[i + 1], kept, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], tonumber(ARGV[i + 5]), ARGV[i + 6])
end
for root in pairs(roots) do keep_exposure(root, kept) end
return 1
