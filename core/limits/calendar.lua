-- Fields of the UTC day and month of an instant in ms: 'd<days since 1970-01-01>' and 'm<year * 12 + month>'
-- (H. Hinnant's days-to-civil algorithm).
local function periods_of(ms)
  local day = math.floor(ms / 86400000)
  local z = day + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local mp = math.floor((5 * (doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))) + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  return 'd' .. day, 'm' .. (yoe + era * 400 + (month <= 2 and 1 or 0)) * 12 + month
end
