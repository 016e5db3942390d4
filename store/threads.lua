
-- Threads as a whole: copied, pruned, deleted, expired (store/store_keep.c says how these steps
-- follow each other).

-- fill(thread key; prefix, owner, epoch, run, list, at, version, item, ...)
-- Fills the list ":m" or ":c" of a thread that nobody has used, from place at on; the same again
-- is done once. version, when it is not "": the thread's, now that all is there.
-- Returns {"OK"}, {"FENCED"}, {"USED"}, or {"STALE"}: begin again at 0.
local function fill(keys, args)
  local head = redis.call('HMGET', keys[1], 'owner', 'epoch', 'run', 'head')
  local is_owner = owns(head, args[2], args[3], args[4])
  if not is_owner then
    return { 'FENCED' }
  end
  if head[4] then
    return { 'USED' }
  end
  local list, at = keys[1] .. ':' .. args[5], tonumber(args[6])
  if at == 0 then
    redis.call('DEL', list)
  end
  local length = redis.call('LLEN', list)
  if length == at then
    call_with('RPUSH', list, args, 8, #args)
  elseif length ~= at + #args - 7 then
    return { 'STALE' }
  end
  if args[7] ~= '' then
    redis.call('HSET', keys[1], 'version', args[7])
  end
  return { 'OK' }
end

-- The run that a thread is not free because of: that goes on, waits, is to start later, or whose
-- end is still to be told (webhooks.lua); or nil.
local function claimed_by(thread_key, prefix)
  local run = busy_with(thread_key)
  if run then
    return run
  end
  for _, one in ipairs(redis.call('LRANGE', thread_key .. ':r', 0, -1)) do
    if redis.call('HGET', run_key(prefix, one), 'status') == 'delayed' or
      redis.call('ZSCORE', prefix .. 'hooks', one) then
      return one
    end
  end
end

-- Whether a thread with that head waits for an answer.
local function waits(head)
  return head and cmsgpack.unpack(head).status == 'interrupted'
end

-- Why a thread may not be cut, as an answer; or nil.
local function refusal(thread_key, prefix, head, force)
  local run = claimed_by(thread_key, prefix)
  if run then
    return { 'BUSY', run }
  end
  return waits(head) and force ~= '1' and { 'WAITS' } or nil
end

-- What a run has left. Its place in `forgotten` has what lies elsewhere deleted, too (chores.lua).
local function forget_run(prefix, run)
  local key = run_key(prefix, run)
  local record = redis.call('HMGET', key, 'entry', 'thread')
  redis.call('HSET', prefix .. 'forgotten', run, (record[1] or '-') .. ' ' .. (record[2] or ''))
  redis.call('DEL', key, key .. ':e', key .. ':w', key .. ':k')
  redis.call('ZREM', prefix .. 'runs', run)
  redis.call('ZREM', prefix .. 'dead', run)
end

local function forget_thread(thread_key, prefix, thread)
  local runs = redis.call('LRANGE', thread_key .. ':r', 0, -1)
  for _, run in ipairs(runs) do
    forget_run(prefix, run)
  end
  redis.call('DEL', thread_key, thread_key .. ':m', thread_key .. ':f', thread_key .. ':c',
    thread_key .. ':q', thread_key .. ':r')
  redis.call('ZREM', prefix .. 'due', thread)
  redis.call('ZREM', prefix .. 'ttl', thread)
  return #runs
end

-- erase(thread key; prefix, thread, force): deletes a thread with all its runs. force "1": one that
-- waits for an answer as well.
-- Returns {"ERASED", runs}, {"BUSY", run}, {"WAITS"}, {"UNKNOWN"}.
local function erase(keys, args)
  local head = redis.call('HMGET', keys[1], 'created', 'head')
  if not head[1] and redis.call('LLEN', keys[1] .. ':r') == 0 then
    return { 'UNKNOWN' }
  end
  return refusal(keys[1], args[1], head[2], args[3]) or
    { 'ERASED', forget_thread(keys[1], args[1], args[2]) }
end

-- Deletes what ended before since, but the runs that are kept ({run: true}) and dead letters.
-- Returns how many.
local function forget_ended(thread_key, prefix, since, kept)
  local left, runs = {}, redis.call('LRANGE', thread_key .. ':r', 0, -1)
  for _, run in ipairs(runs) do
    local ended = tonumber(redis.call('HGET', run_key(prefix, run), 'ended') or nil)
    if kept[run] or not ended or ended > since or redis.call('ZSCORE', prefix .. 'dead', run) then
      left[#left + 1] = run
    else
      forget_run(prefix, run)
    end
  end
  redis.call('DEL', thread_key .. ':r')
  call_with('RPUSH', thread_key .. ':r', left, 1, #left)
  return #runs - #left
end

-- prune(thread key; prefix, thread, version, force, checkpoints to drop, the oldest that is left, its
--       time, count of messages, number..., run that is kept...)
-- Drops the oldest checkpoints, the messages that only they name, and runs that ended before the
-- oldest that is left, which from now on has all of the fields. version is the thread's, as the
-- caller knows it.
-- Returns {"PRUNED", runs}, {"STALE"}, {"BUSY", run}, {"WAITS"}, {"UNKNOWN"}.
local function prune(keys, args)
  local head = redis.call('HMGET', keys[1], 'version', 'head', 'rolled')
  if not head[1] then
    return { 'UNKNOWN' }
  end
  local refused = refusal(keys[1], args[1], head[2], args[4])
  if refused then
    return refused
  end
  if head[3] then
    return { 'BUSY', head[3] }
  end
  local length = redis.call('LLEN', keys[1] .. ':c')
  local last = 8 + tonumber(args[8])
  if head[1] ~= args[3] or length <= tonumber(args[5]) then
    return { 'STALE' }
  end
  local kept = {}
  for i = last + 1, #args do
    kept[args[i]] = true
  end
  redis.call('LTRIM', keys[1] .. ':c', args[5], -1)
  redis.call('LSET', keys[1] .. ':c', 0, args[6])
  for i = 9, last do
    redis.call('LSET', keys[1] .. ':m', args[i], '')
  end
  redis.call('ZREM', args[1] .. 'ttl', args[2])
  return { 'PRUNED', forget_ended(keys[1], args[1], tonumber(args[7]), kept) }
end

-- expire(due key; prefix, limit): threads whose time is over: those to be deleted are, those to be
-- pruned are returned, and found again in a minute. One that is not free, or waits for an answer,
-- stays for its time once more.
local function expire(_, args)
  local prefix, key, now, found = args[1], args[1] .. 'ttl', now_ms(), {}
  for _, thread in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, args[2])) do
    local thread_key = prefix .. 't:' .. thread
    local head = redis.call('HMGET', thread_key, 'head', 'ttl', 'version')
    local ms, action = string.match(head[2] or '', '^(%d+) ([%a_]+)$')
    if not ms or ms == '0' then
      redis.call('ZREM', key, thread)
    elseif refusal(thread_key, prefix, head[1], '0') then
      redis.call('ZADD', key, now + tonumber(ms), thread)
    elseif action == 'delete' or not head[3] then -- nothing to keep: no run has ever begun there
      forget_thread(thread_key, prefix, thread)
    else
      redis.call('ZADD', key, now + 60000, thread)
      found[#found + 1] = thread
    end
  end
  return found
end

register('fl_fill', fill)
register('fl_erase', erase, true)
register('fl_prune', prune, true)
register('fl_expire', expire, true)
