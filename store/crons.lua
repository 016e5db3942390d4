
-- Crons: runs that recur. KEYS[1] is the shard's `crons`: cron -> when it is due next (ms), inf for those
-- that are paused or over. Its hash says what it is, and what became of it.

-- What is told of a cron, in this order (store_crons.c); `entry`, which may be large, is told of one alone.
local CRON_FIELDS = { 'version', 'agent', 'schedule', 'timezone', 'end', 'thread', 'paused', 'keep',
  'metadata', 'created', 'updated', 'last', 'last_run', 'error', 'assistant' }

local function cron_key(prefix, cron)
  return prefix .. 'cron:' .. cron
end

local CRONS_TENANT_SHARD_MAX = 100 -- as in proto/bounds.h

-- Whether the shard has as many as may be of the tenant whose the cron is.
local function cron_tenant_is_full(key, cron)
  local tenant = tenant_of(cron)
  local count = 0
  if tenant then
    for _, other in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', '+inf')) do
      if tenant_of(other) == tenant then
        count = count + 1
      end
    end
  end
  return count >= CRONS_TENANT_SHARD_MAX
end

-- cron_create(crons; prefix, cron, next, made, most, field, value, ...)
-- made: a word of this one creation, by which it is known again when its answer was lost; most: so many
-- crons a shard has at most. Returns {"OK"}, {"KNOWN"} (there is one of that name), {"FULL"}, {"TENANT_FULL"}.
local function cron_create(keys, args)
  local key = cron_key(args[1], args[2])
  local made = redis.call('HGET', key, 'made')
  if redis.call('ZSCORE', keys[1], args[2]) then
    return { made == args[4] and 'OK' or 'KNOWN' }
  end
  if redis.call('ZCARD', keys[1]) >= tonumber(args[5]) then
    return { 'FULL' }
  end
  if cron_tenant_is_full(keys[1], args[2]) then
    return { 'TENANT_FULL' }
  end
  local now = text(now_ms())
  redis.call('DEL', key)
  redis.call('HSET', key, 'version', '1', 'made', args[4], 'created', now, 'updated', now)
  call_with('HSET', key, args, 6, #args)
  redis.call('ZADD', keys[1], args[3], args[2])
  return { 'OK' }
end

-- cron_change(crons; prefix, cron, version, next, field, value, ...)
-- Changes it, if that is its version; next "": its time stays. Returns {"OK"}, {"STALE"}, {"NONE"}.
local function cron_change(keys, args)
  local key = cron_key(args[1], args[2])
  local version = redis.call('HGET', key, 'version')
  if not redis.call('ZSCORE', keys[1], args[2]) then
    return { 'NONE' }
  end
  if version ~= args[3] then
    return { 'STALE' }
  end
  call_with('HSET', key, args, 5, #args)
  redis.call('HSET', key, 'version', text(tonumber(version) + 1), 'updated', text(now_ms()))
  if args[4] ~= '' then
    redis.call('ZADD', keys[1], args[4], args[2])
  end
  return { 'OK' }
end

-- cron_put_off(crons; prefix, cron, due, version, next, error)
-- What cannot be fired is due at next, if it is due then still. error: why, for people. Answers as cron_change.
local function cron_put_off(keys, args)
  if redis.call('ZSCORE', keys[1], args[2]) ~= args[3] then
    return { 'STALE' }
  end
  return cron_change(keys, { args[1], args[2], args[4], args[5], 'error', args[6] })
end

-- cron_put_away(crons; prefix, cron): whatever stands there is not due any more. {"OK"}.
local function cron_put_away(keys, args)
  redis.call('ZADD', keys[1], 'XX', 'inf', args[2])
  return { 'OK' }
end

-- cron_delete(crons; prefix, cron): {"OK"} or {"NONE"}. What it has begun goes on.
local function cron_delete(keys, args)
  local gone = redis.call('ZREM', keys[1], args[2])
  redis.call('DEL', cron_key(args[1], args[2]))
  return { gone == 1 and 'OK' or 'NONE' }
end

-- crons(crons; prefix, until, limit): those that are due until then ("now", "+inf"), in the order of
-- their times, limit at most. Returns {TIME in ms, cron, when it is due, {what CRON_FIELDS are}, ...}; of
-- what is no cron there are none.
local function crons(keys, args)
  local now = now_ms()
  local answer = { now }
  local last = args[2] == 'now' and now or args[2]
  local found = redis.call('ZRANGEBYSCORE', keys[1], '-inf', last, 'WITHSCORES', 'LIMIT', 0, args[3])
  for i = 1, #found, 2 do
    local fields = redis.pcall('HMGET', cron_key(args[1], found[i]), unpack(CRON_FIELDS))
    answer[#answer + 1] = found[i]
    answer[#answer + 1] = found[i + 1]
    answer[#answer + 1] = fields.err and {} or fields -- the others go on
  end
  return answer
end

-- cron_get(crons; prefix, cron): the same of one, and behind it its `entry`; or {"NONE"}.
local function cron_get(keys, args)
  local at, key = redis.call('ZSCORE', keys[1], args[2]), cron_key(args[1], args[2])
  if not at then
    return { 'NONE' }
  end
  return { now_ms(), args[2], at, redis.call('HMGET', key, unpack(CRON_FIELDS)),
    redis.call('HGET', key, 'entry') }
end

-- cron_fire(crons, inbox; prefix, cron, due, version, next, run, error, field, value, ...)
-- Submits run, as any client does, and sets the next time, in one step; if the cron is due then still, and
-- of that version. error: what is known to be wrong with the run, for people, or "". Fields: what takes the place of the entry's.
-- Returns {"OK"}; {"STALE"}: somebody else has done it, it was changed, or next is over; {"DAMAGED"}: nobody can.
local function cron_fire(keys, args)
  local key = cron_key(args[1], args[2])
  local record = redis.call('HMGET', key, 'version', 'entry', 'thread')
  local at = redis.call('ZSCORE', keys[1], args[2])
  if at ~= args[3] or record[1] ~= args[4] then
    return { 'STALE' }
  end
  local is_read, fields = pcall(cmsgpack.unpack, record[2] or '')
  if not is_read or type(fields) ~= 'table' then
    return { 'DAMAGED' }
  end
  if tonumber(args[5]) <= now_ms() then
    return { 'STALE' } -- it was reckoned long ago: who looks again finds one that is to come
  end
  for i = 8, #args, 2 do
    fields[args[i]] = args[i + 1]
  end
  for _, value in pairs(fields) do
    if type(value) ~= 'string' then
      return { 'DAMAGED' }
    end
  end
  local run = args[6]
  local entry = { 'run', run, 'thread', (record[3] or '') ~= '' and record[3] or run }
  for name, value in pairs(fields) do
    entry[#entry + 1] = name
    entry[#entry + 1] = value
  end
  redis.call('XADD', keys[2], '*', unpack(entry))
  redis.call('ZADD', keys[1], args[5], args[2])
  redis.call('HSET', key, 'last', args[3], 'last_run', run, 'error', args[7])
  return { 'OK' }
end

register('fl_cron_create', cron_create)
register('fl_cron_change', cron_change)
register('fl_cron_put_off', cron_put_off)
register('fl_cron_put_away', cron_put_away, 'allow-oom')
register('fl_cron_delete', cron_delete, 'allow-oom')
register('fl_cron_get', cron_get, 'no-writes')
register('fl_crons', crons, 'no-writes')
register('fl_cron_fire', cron_fire)
