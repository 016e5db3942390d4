
-- Assistants: agents with a context of their own. KEYS: `fl:assistants`, all of their ids, with score 0; the hash of one,
-- `fl:assistant:<id>`; `fl:agents`. A hash has `token created updated version newest agent name metadata`, the last three as
-- of the version that counts; each version, packed, as `v<number>`, and when it was made as `at<number>`.
-- All in one table: a chunk has no more than 200 locals.

local assistant = {
  FIELDS = { 'token', 'created', 'updated', 'version', 'newest' },
  LISTED = { 'token', 'created', 'updated', 'version', 'newest', 'agent', 'name', 'metadata' },
}

-- Whether there is no such agent; "": nobody asks.
function assistant.lacks_agent(key, agent)
  return agent ~= '' and redis.call('HEXISTS', key, agent) == 0
end

-- Whether there are that many of the tenant whose the id is (tenant_index): no id has a byte behind the mark's, 127.
function assistant.tenant_is_full(key, id, most)
  local tenant = tenant_of(id)
  return tenant and
    redis.call('ZLEXCOUNT', key, '[' .. tenant .. '~', '(' .. tenant .. '\127') >= most
end

-- assistant_create(assistants, assistant, agents; id, token, most, most of a tenant, agent, name, metadata, version)
-- Returns {"OK"}; {"KNOWN"}: there is one of that id; {"AGENT"}: it is an agent's name; {"NO_AGENT"}, {"FULL"},
-- {"TENANT_FULL"}.
function assistant.create(keys, args)
  local token = redis.call('HGET', keys[2], 'token')
  if token then
    return { token == args[2] and 'OK' or 'KNOWN' }
  end
  if redis.call('HEXISTS', keys[3], args[1]) == 1 then
    return { 'AGENT' }
  end
  if assistant.lacks_agent(keys[3], args[5]) then
    return { 'NO_AGENT' }
  end
  if redis.call('ZCARD', keys[1]) >= tonumber(args[3]) then
    return { 'FULL' }
  end
  if assistant.tenant_is_full(keys[1], args[1], tonumber(args[4])) then
    return { 'TENANT_FULL' }
  end
  local now = text(now_ms())
  redis.call('DEL', keys[2])
  redis.call('HSET', keys[2], 'token', args[2], 'created', now, 'updated', now, 'version', '1',
    'newest', '1', 'agent', args[5], 'name', args[6], 'metadata', args[7], 'v1', args[8],
    'at1', now)
  redis.call('ZADD', keys[1], 0, args[1])
  return { 'OK' }
end

-- What is to be answered to who wants to change one, from token was to new; nil: he may.
function assistant.not_changed(key, was, new)
  local token = redis.call('HGET', key, 'token')
  if not token then
    return { 'NONE' }
  end
  if token == new then
    return { 'OK' }
  end
  return token ~= was and { 'STALE' } or nil
end

-- assistant_change(assistants, assistant, agents; id, was, token, keep, agent to look for, agent, name, metadata, version)
-- Adds a version; there are keep at most. Returns {"OK"}, {"STALE"}, {"NONE"}, {"NO_AGENT"}.
function assistant.change(keys, args)
  local answer = assistant.not_changed(keys[2], args[2], args[3])
  if answer then
    return answer
  end
  if assistant.lacks_agent(keys[3], args[5]) then
    return { 'NO_AGENT' }
  end
  local number = number_of(redis.call('HGET', keys[2], 'newest') or '0') + 1
  local now, oldest = text(now_ms()), text(number - tonumber(args[4]))
  redis.call('HSET', keys[2], 'token', args[3], 'updated', now, 'version', text(number), 'newest',
    text(number), 'agent', args[6], 'name', args[7], 'metadata', args[8], 'v' .. text(number),
    args[9], 'at' .. text(number), now)
  redis.call('HDEL', keys[2], 'v' .. oldest, 'at' .. oldest)
  return { 'OK' }
end

-- assistant_choose(assistants, assistant, agents; id, was, token, number, agent, name, metadata)
-- The version of that number is the one that counts; what follows is its. Returns {"OK"}, {"STALE"}, {"NONE"}.
function assistant.choose(keys, args)
  local answer = assistant.not_changed(keys[2], args[2], args[3])
  if answer then
    return answer
  end
  if redis.call('HEXISTS', keys[2], 'v' .. args[4]) == 0 then
    return { 'NONE' }
  end
  redis.call('HSET', keys[2], 'token', args[3], 'updated', text(now_ms()), 'version', args[4],
    'agent', args[5], 'name', args[6], 'metadata', args[7])
  return { 'OK' }
end

-- assistant_delete(assistants, assistant, agents; id): {"OK"} or {"NONE"}.
function assistant.delete(keys, args)
  local gone = redis.call('ZREM', keys[1], args[1])
  return { gone + redis.call('DEL', keys[2]) > 0 and 'OK' or 'NONE' }
end

-- assistant_get(assistants, assistant, agents; id, number): {{what FIELDS are}, the version of that number, or for ""
-- the one that counts, its number, when it was made}, or {"NONE"}.
function assistant.get(keys, args)
  local found = redis.call('HMGET', keys[2], unpack(assistant.FIELDS))
  if not found[1] then
    return { 'NONE' }
  end
  local number = args[2] ~= '' and args[2] or found[4] or ''
  local version = redis.call('HMGET', keys[2], 'v' .. number, 'at' .. number)
  return { found, version[1], number, version[2] }
end

-- assistants(assistants; from, to, limit, metadata): of the ids from there to there: {id, {what LISTED are}, ...}, metadata, which
-- may be large, if that is "1"; of what is no assistant there are no fields.
function assistant.list(keys, args)
  local answer, last = {}, #assistant.LISTED - (args[4] == '1' and 0 or 1)
  for _, id in ipairs(redis.call('ZRANGEBYLEX', keys[1], args[1], args[2], 'LIMIT', 0, args[3])) do
    local fields = redis.pcall('HMGET', 'fl:assistant:' .. id, unpack(assistant.LISTED, 1, last))
    answer[#answer + 1] = id
    answer[#answer + 1] = fields.err and {} or fields
  end
  return answer
end

register('fl_assistant_create', assistant.create)
register('fl_assistant_change', assistant.change)
register('fl_assistant_choose', assistant.choose)
register('fl_assistant_delete', assistant.delete, 'allow-oom')
register('fl_assistant_get', assistant.get, 'no-writes')
register('fl_assistants', assistant.list, 'no-writes')
