
local HAIR, HUNGRY, LATER = 1e-9, 0.5, 2
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local call = cjson.decode(ARGV[1])
local function text(x) return string.format('%.17g', x) end

local function rolls_in(parts, over, reach, width)
  local names, told = {}, 0
  for part in pairs(parts) do names[#names + 1] = part end
  table.sort(names)
  for _, part in ipairs(names) do
    if over <= HAIR then break end
    over = over - parts[part]
    told = (part + reach) * width - now
  end
  return told
end

local function window(key, parts, known, ask, closed, alive)
  local name, limit, width, count, whole = ask[1], ask[2], ask[3], ask[4], ask[5]
  local demand, ahead, returns, debts, told = ask[6], ask[7], ask[8], ask[9], ask[10]
  local current = math.floor(now / width)
  local oldest = current - count - LATER + 1
  local used, changed, was_known = 0, {}, known
  local function put(part, amount)
    changed[part] = true
    if amount > HAIR then parts[part] = amount else parts[part] = nil end
  end
  if known and known.ends <= now then
    local since = math.floor(known.since / width) - 1
    for part in pairs(parts) do if part < since then put(part, 0) end end
    known = nil
  end
  for part, amount in pairs(parts) do
    if part < oldest then put(part, 0) else used = used + amount end
  end
  for _, one in ipairs(returns) do
    local amount = one[3]
    for part = one[1], one[2] do
      local gone = math.min(parts[part] or 0, amount)
      if gone > 0 then
        put(part, parts[part] - gone)
        used, amount = used - gone, amount - gone
        if known and part >= math.floor(known.since / width) - 1 then known.left = known.left + gone end
      end
    end
  end
  for _, one in ipairs(debts) do
    local part = math.min(one[1], current)
    if part >= oldest then
      put(part, (parts[part] or 0) + one[2])
      used = used + one[2]
      if known then known.left = known.left - one[2] end
    end
  end
  if told ~= cjson.null and (not known or told[2] >= known.since) then
    local since, later = math.floor(told[2] / width) - 1, 0
    for part, amount in pairs(parts) do if part >= since then later = later + amount end end
    local left = math.max(math.min(told[1], limit) - later, 0)
    known = {left = left, since = told[2], ends = now + told[3]}
    local names, surplus = {}, used - (limit - left)
    for part in pairs(parts) do names[#names + 1] = part end
    table.sort(names)
    for _, part in ipairs(names) do
      if surplus <= HAIR then break end
      local gone = math.min(parts[part], surplus)
      put(part, parts[part] - gone)
      used, surplus = used - gone, surplus - gone
    end
  end
  local left = limit - used
  if known then left = math.min(left, known.left) end
  local granted, opens_in = 0, 0
  if closed then
    opens_in = 0
  elseif demand <= left + HAIR then
    local extra = math.max(math.min(ahead, (left - demand) / (2 * alive)), 0)
    if whole then extra = math.floor(extra + HAIR) end
    granted = demand + extra
    if granted > 0 then
      put(current, (parts[current] or 0) + granted)
      left = left - granted
      if known then known.left = known.left - granted end
    end
  elseif known and known.left < demand then
    opens_in = known.ends - now
  else
    opens_in = rolls_in(parts, used + demand - limit, count + LATER, width)
  end
  for part in pairs(changed) do
    local field = 'w|' .. name .. '|' .. string.format('%.0f', part)
    if parts[part] then redis.call('HSET', key, field, text(parts[part])) else redis.call('HDEL', key, field) end
  end
  if known then
    redis.call('HSET', key, 'k|' .. name, text(known.left) .. ' ' .. text(known.since) .. ' ' .. text(known.ends))
  elseif was_known then
    redis.call('HDEL', key, 'k|' .. name)
  end
  return string.format('%.0f', current) .. ' ' .. text(granted) .. ' ' .. text(left) .. ' ' .. text(opens_in)
end

local function slots(key, held, queue, ask, closed)
  local limit, in_flight, wanted, lacks = ask[1], ask[2], ask[3], ask[4]
  local others = 0
  for worker, one in pairs(held) do
    if worker ~= call.worker then
      if one.at <= now - call.gone_seconds then redis.call('HDEL', key, 's|' .. worker) else others = others + one.number end
    end
  end
  local mine, waiting, before = queue[call.worker], 0, 0
  local since = mine and mine.last > now - HUNGRY and mine.since or now
  for worker, one in pairs(queue) do
    if one.last <= now - HUNGRY then
      redis.call('HDEL', key, 'q|' .. worker)
    elseif worker ~= call.worker then
      waiting = 1
      if one.since < since then before = before + 1 end
    end
  end
  local granted = math.max(in_flight, math.min(wanted, limit - others - before))
  if closed then granted = in_flight end
  if granted > 0 then
    redis.call('HSET', key, 's|' .. call.worker, granted .. ' ' .. text(now))
  elseif held[call.worker] then
    redis.call('HDEL', key, 's|' .. call.worker)
  end
  if lacks and granted == 0 then
    redis.call('HSET', key, 'q|' .. call.worker, text(since) .. ' ' .. text(now))
  elseif mine then
    redis.call('HDEL', key, 'q|' .. call.worker)
  end
  return string.format('%.0f', granted) .. ' ' .. waiting
end

local function scope(key, ask, closed, alive)
  local flat = redis.call('HGETALL', key)
  local parts, known, held, queue = {}, {}, {}, {}
  for i = 1, #flat, 2 do
    local kind, name, rest = string.match(flat[i], '^(%a)|?([^|]*)|?(.*)$')
    local value = flat[i + 1]
    if kind == 'w' then
      parts[name] = parts[name] or {}
      parts[name][tonumber(rest)] = tonumber(value)
    elseif kind == 'k' then
      local left, since, ends = string.match(value, '^(%S+) (%S+) (%S+)$')
      known[name] = {left = tonumber(left), since = tonumber(since), ends = tonumber(ends)}
    elseif kind == 's' then
      local number, at = string.match(value, '^(%S+) (%S+)$')
      held[name] = {number = tonumber(number), at = tonumber(at)}
    elseif kind == 'q' then
      local since, last = string.match(value, '^(%S+) (%S+)$')
      queue[name] = {since = tonumber(since), last = tonumber(last)}
    end
  end
  local found = {}
  for _, one in ipairs(ask[3]) do
    found[#found + 1] = window(key, parts[one[1]] or {}, known[one[1]], one, closed, alive)
  end
  if ask[4] ~= cjson.null then found[#found + 1] = slots(key, held, queue, ask[4], closed) end
  local lasts = math.floor(ask[2] * 1000)
  if redis.call('PTTL', key) < lasts then redis.call('PEXPIRE', key, lasts) end
  return table.concat(found, ' ')
end

if call.leaves then
  redis.call('ZREM', KEYS[2], call.worker)
else
  redis.call('ZADD', KEYS[2], text(now), call.worker)
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', text(now - call.gone_seconds))
local alive = math.max(redis.call('ZCARD', KEYS[2]), 1)
local others = redis.call('ZCOUNT', KEYS[2], text(now - call.fresh_seconds), '+inf') - 1
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local opens = tonumber(redis.call('HGET', KEYS[1], 'opens') or '0')
if not epoch then
  epoch = call.new_epoch
  redis.call('HSET', KEYS[1], 'epoch', epoch)
end
local differs = call.epoch ~= '' and call.epoch ~= epoch
if (differs or (call.rejoins and others <= 0)) and now >= opens then
  opens = now + call.grace_period
  redis.call('HSET', KEYS[1], 'opens', text(opens))
end
local found = {text(now), epoch, text(opens), string.format('%.0f', alive)}
if not differs then
  for i, ask in ipairs(call.scopes) do found[#found + 1] = scope(KEYS[i + 2], ask, now < opens, alive) end
end
return table.concat(found, ' ')
