
-- Agents as versions. KEYS: `fl:agents` (name -> version), and the agent's log, a list: number n is
-- its item n - 1, packed {version ("" when it was deleted), at, by, comment, back_to}. And the tools that workers announce.

-- agent_apply(agents, log; name, version, by, comment, back_to, expected): makes version the current
-- one, "" deletes the agent. back_to: the number of the version it goes back to, or 0. expected: how
-- many numbers the log must have, or -1. Returns {"OK", number}, {"SAME", number} (it is the current
-- one already), {"NONE"} (nothing to delete), or {"MOVED", number}: another was applied meanwhile.
local function agent_apply(keys, args)
  local name, version, expected = args[1], args[2], tonumber(args[6])
  local current = redis.call('HGET', keys[1], name) or ''
  local count = redis.call('LLEN', keys[2])
  if expected >= 0 and expected ~= count then
    return { 'MOVED', count }
  end
  if current == version then
    return version == '' and { 'NONE' } or { 'SAME', count }
  end
  if count == 0 and current ~= '' then -- of a time without logs
    redis.call('RPUSH', keys[2], cmsgpack.pack({ version = current, at = 0 }))
  end
  if version == '' then
    redis.call('HDEL', keys[1], name)
  else
    redis.call('HSET', keys[1], name, version)
  end
  local back_to = tonumber(args[5])
  return { 'OK', redis.call('RPUSH', keys[2], cmsgpack.pack({ version = version, at = now_ms(),
    by = args[3], comment = args[4] ~= '' and args[4] or nil,
    back_to = back_to > 0 and back_to or nil })) }
end

-- tools_seen(fl:tools, fl:tools:seen; keep_ms, name, ...): these tools are served now, and those that were not for so long
-- are forgotten. Of some nobody has said so yet: their time begins. Returns which of the names are not there.
local function tools_seen(keys, args)
  local now, missing, seen = now_ms(), {}, {}
  for i = 2, #args do
    if redis.call('HEXISTS', keys[1], args[i]) == 1 then
      seen[#seen + 1] = text(now)
      seen[#seen + 1] = args[i]
    else
      missing[#missing + 1] = args[i]
    end
  end
  call_with('ZADD', keys[2], seen, 1, #seen)
  if redis.call('HLEN', keys[1]) > redis.call('ZCARD', keys[2]) then
    local tools = redis.call('HGETALL', keys[1])
    for i = 1, #tools, 2 do
      redis.call('ZADD', keys[2], 'NX', text(now), tools[i])
    end
  end
  local gone = redis.call('ZRANGEBYSCORE', keys[2], '-inf', text(now - tonumber(args[1])))
  call_with('HDEL', keys[1], gone, 1, #gone)
  call_with('ZREM', keys[2], gone, 1, #gone)
  return missing
end

register('fl_agent_apply', agent_apply)
register('fl_tools_seen', tools_seen, 'allow-oom')
