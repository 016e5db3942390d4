
-- Agents as versions. KEYS: `fl:agents` (name -> version), and the agent's log, a list: number n is
-- its item n - 1, packed {version ("" when it was deleted), at, by, comment, back_to}.

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

register('fl_agent_apply', agent_apply)
