
local EPSILON, SHORTAGE_SECONDS, LEASE_PARTS = 1e-9, 0.5, 2
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local exchange = cjson.decode(ARGV[1])
local function text(x) return string.format('%.17g', x) end

local function server_id()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
end

local function rolls_in(parts, over, reach, width)
  local names, seconds = {}, 0
  for part in pairs(parts) do names[#names + 1] = part end
  table.sort(names)
  for _, part in ipairs(names) do
    if over <= EPSILON then break end
    over = over - parts[part]
    seconds = (part + reach) * width - now
  end
  return seconds
end

local function window(key, parts, known, request, closed, alive)
  local name, limit, width, count, whole = request[1], request[2], request[3], request[4], request[5]
  local demand, ahead, returns, debts, reading = request[6], request[7], request[8], request[9], request[10]
  local current = math.floor(now / width)
  local oldest = current - count - LEASE_PARTS + 1
  local used, changed, was_known = 0, {}, known
  local function put(part, amount)
    changed[part] = true
    if amount > EPSILON then parts[part] = amount else parts[part] = nil end
  end
  if known and known.ends <= now then
    local since = math.floor(known.since / width) - 1
    for part in pairs(parts) do if part < since then put(part, 0) end end
    known = nil
  end
  for part, amount in pairs(parts) do
    if part < oldest then put(part, 0) else used = used + amount end
  end
  for _, item in ipairs(returns) do
    local amount = item[3]
    for part = item[1], item[2] do
      local gone = math.min(parts[part] or 0, amount)
      if gone > 0 then
        put(part, parts[part] - gone)
        used, amount = used - gone, amount - gone
        if known and part >= math.floor(known.since / width) - 1 then known.left = known.left + gone end
      end
    end
  end
  for _, item in ipairs(debts) do
    local part = math.min(item[1], current)
    if part >= oldest then
      put(part, (parts[part] or 0) + item[2])
      used = used + item[2]
      if known then known.left = known.left - item[2] end
    end
  end
  if reading ~= cjson.null and reading[1] < 0 then
    -- An operator knows better than the provider's last statement.
    known = nil
  elseif reading ~= cjson.null and (not known or reading[2] >= known.since) then
    local since, later = math.floor(reading[2] / width) - 1, 0
    for part, amount in pairs(parts) do if part >= since then later = later + amount end end
    local left = math.max(math.min(reading[1], limit) - later, 0)
    known = {left = left, since = reading[2], ends = now + reading[3]}
    local names, surplus = {}, used - (limit - left)
    for part in pairs(parts) do names[#names + 1] = part end
    table.sort(names)
    for _, part in ipairs(names) do
      if surplus <= EPSILON then break end
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
  elseif demand <= left + EPSILON then
    local extra = math.max(math.min(ahead, (left - demand) / (2 * alive)), 0)
    if whole then extra = math.floor(extra + EPSILON) end
    granted = demand + extra
    if granted > 0 then
      put(current, (parts[current] or 0) + granted)
      left = left - granted
      if known then known.left = known.left - granted end
    end
  elseif known and known.left < demand then
    opens_in = known.ends - now
  else
    opens_in = rolls_in(parts, used + demand - limit, count + LEASE_PARTS, width)
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

local function slots(key, held, queue, request, closed)
  local limit, holds, wanted, lacks = request[1], request[2], request[3], request[4]
  local others = 0
  for worker, item in pairs(held) do
    if worker ~= exchange.worker then
      if item.at <= now - exchange.gone_seconds then
        redis.call('HDEL', key, 's|' .. worker)
      else
        others = others + item.number
      end
    end
  end
  local mine, waiting, before = queue[exchange.worker], 0, 0
  local since = mine and mine.last > now - SHORTAGE_SECONDS and mine.since or now
  for worker, item in pairs(queue) do
    if item.last <= now - SHORTAGE_SECONDS then
      redis.call('HDEL', key, 'q|' .. worker)
    elseif worker ~= exchange.worker then
      waiting = 1
      if item.since < since then before = before + 1 end
    end
  end
  local granted = math.max(holds, math.min(wanted, limit - others - before))
  if closed then granted = holds end
  if granted > 0 then
    redis.call('HSET', key, 's|' .. exchange.worker, granted .. ' ' .. text(now))
  elseif held[exchange.worker] then
    redis.call('HDEL', key, 's|' .. exchange.worker)
  end
  if lacks and granted == 0 then
    redis.call('HSET', key, 'q|' .. exchange.worker, text(since) .. ' ' .. text(now))
  elseif mine then
    redis.call('HDEL', key, 'q|' .. exchange.worker)
  end
  return string.format('%.0f', granted) .. ' ' .. waiting
end

local function scope(key, request, closed, alive)
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
  local results = {}
  for _, item in ipairs(request[3]) do
    results[#results + 1] = window(key, parts[item[1]] or {}, known[item[1]], item, closed, alive)
  end
  if request[4] ~= cjson.null then results[#results + 1] = slots(key, held, queue, request[4], closed) end
  local lasts = math.floor(request[2] * 1000)
  if redis.call('PTTL', key) < lasts then redis.call('PEXPIRE', key, lasts) end
  return table.concat(results, ' ')
end

if exchange.leaves then
  redis.call('ZREM', KEYS[2], exchange.worker)
else
  redis.call('ZADD', KEYS[2], text(now), exchange.worker)
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', text(now - exchange.gone_seconds))
local alive = math.max(redis.call('ZCARD', KEYS[2]), 1)
local others = redis.call('ZCOUNT', KEYS[2], text(now - exchange.fresh_seconds), '+inf') - 1
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local opens = tonumber(redis.call('HGET', KEYS[1], 'opens') or '0')
local is_other_server = false
if not epoch or exchange.rejoins then
  -- If a replica is the master now, all workers have used local shares, however fresh their heartbeats here are.
  local server, last = server_id(), redis.call('HGET', KEYS[1], 'server')
  is_other_server = last and last ~= server
  if last ~= server then redis.call('HSET', KEYS[1], 'server', server) end
end
if not epoch then
  epoch = exchange.new_epoch
  redis.call('HSET', KEYS[1], 'epoch', epoch)
end
local differs = exchange.epoch ~= '' and exchange.epoch ~= epoch
if (differs or is_other_server or (exchange.rejoins and others <= 0)) and now >= opens then
  opens = now + exchange.grace_period
  redis.call('HSET', KEYS[1], 'opens', text(opens), 'outage', text(now), 'expected', exchange.workers)
elseif now < opens then
  -- A worker that comes late has used its local share until now. Without its report, too much would be granted.
  local ended = tonumber(redis.call('HGET', KEYS[1], 'outage') or now)
  local expected = tonumber(redis.call('HGET', KEYS[1], 'expected') or 0)
  local later = math.min(now, ended + exchange.gone_seconds) + exchange.grace_period
  if redis.call('ZCOUNT', KEYS[2], text(ended), '+inf') < expected and later > opens then
    opens = later
    redis.call('HSET', KEYS[1], 'opens', text(opens))
  end
end
local results = {text(now), epoch, text(opens), string.format('%.0f', alive)}
if not differs then
  for i, request in ipairs(exchange.scopes) do
    results[#results + 1] = scope(KEYS[i + 2], request, now < opens, alive)
  end
end
return table.concat(results, ' ')
