#!lua name=flotilla
-- The atomic steps of a thread's life (store/store.h says who calls them and why;
-- docs/redis.md describes the keys). Rules of this file: every check comes before the first
-- write, since Redis does not roll back; TIME is the only clock; every key of a call carries
-- the shard's hash tag. KEYS[1] is always the thread's hash, or the shard's `due` set for
-- calls on a shard; ARGV[1] is the shard's prefix, "fl:{s17}:".

local QUARANTINE_AFTER = 5
local ARGUMENTS_MAX = 1000 -- of one command, even: Lua's stack is short

-- Every command a function calls costs 2 microseconds on top of its work, and a line in the
-- append-only file: what can be one command is one.
local function call_with(verb, key, args, first, last)
  for from = first, last, ARGUMENTS_MAX do
    redis.call(verb, key, unpack(args, from, math.min(from + ARGUMENTS_MAX - 1, last)))
  end
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function run_key(prefix, run)
  return prefix .. 'r:' .. run
end

-- The value of name in what HGETALL answered, or nil.
local function field_of(flat, name)
  for i = 1, #flat, 2 do
    if flat[i] == name then
      return flat[i + 1]
    end
  end
end

local function log_event(prefix, run, event)
  local key = run_key(prefix, run)
  local seq = redis.call('HINCRBY', key, 'events', 1)
  event.at = now_ms()
  event.run = run
  event.seq = seq
  redis.call('XADD', key .. ':e', seq .. '-0', 'd', cmsgpack.pack(event))
  return seq
end

local function lease_alive(prefix, owner, now)
  if not owner or owner == '' then
    return false
  end
  local expires = redis.call('HGET', prefix .. 'leases', owner)
  return expires and tonumber(expires) > now
end

-- Ends a run without an owner (cancelled in the queue, quarantined).
local function end_run(prefix, run, status, kind, reason)
  local key = run_key(prefix, run)
  local fault = cmsgpack.pack({ type = kind, message = reason })
  redis.call('HSET', key, 'status', status, 'fault', fault, 'ended', now_ms())
  redis.call('DEL', key .. ':w')
  redis.call('SREM', prefix .. 'cancels', run)
  log_event(prefix, run, { kind = 'finished', status = status,
    error = { type = kind, message = reason } })
end

-- submit(thread key; prefix, thread, run, field, value, ...)
-- Queues run on thread; known runs are left as they are.
-- Returns {"QUEUED", runs before it} or {"KNOWN", status}.
local function submit(keys, args)
  local thread_key, prefix, thread, run = keys[1], args[1], args[2], args[3]
  local key = run_key(prefix, run)
  local status = redis.call('HGET', key, 'status')
  if status then
    return { 'KNOWN', status }
  end
  local head = redis.call('HMGET', thread_key, 'created', 'run')
  local now = now_ms()
  redis.call('HSET', key, 'status', 'queued', 'thread', thread, 'created', now, 'attempts', 0)
  call_with('HSET', key, args, 4, #args)
  if not head[1] then
    redis.call('HSET', thread_key, 'created', now)
  end
  redis.call('ZADD', prefix .. 'runs', now, run)
  local before = redis.call('RPUSH', thread_key .. ':q', run) - 1
  if head[2] and head[2] ~= '' then
    before = before + 1
  else
    redis.call('ZADD', prefix .. 'due', 'NX', now, thread)
  end
  log_event(prefix, run, { kind = 'queued', thread = thread,
    agent = redis.call('HGET', key, 'agent') })
  return { 'QUEUED', before }
end

-- claim(thread key; prefix, thread, owner, lease_ms)
-- Takes the thread's active run when its owner's lease is gone, or when the owner is the one who
-- asks (the answer to its first claim was lost), else the first waiting one.
-- Raises the epoch: whoever owned the thread before is fenced.
-- Returns {"OK", run, epoch, version, recovered, thread hash, run hash (both as they were), fields,
-- messages, pending writes}, or {"BUSY"}, {"NONE"}, {"QUARANTINED", run}.
local function claim(keys, args)
  local thread_key, prefix, thread, owner = keys[1], args[1], args[2], args[3]
  local head = redis.call('HGETALL', thread_key)
  local now = now_ms()
  local lease = now + tonumber(args[4])
  local run = field_of(head, 'run')
  local recovered = 1
  if run and run ~= '' then
    local holder = field_of(head, 'owner')
    if holder ~= owner and lease_alive(prefix, holder, now) then
      return { 'BUSY' }
    end
    local attempts = tonumber(redis.call('HGET', run_key(prefix, run), 'attempts') or 0)
    if attempts >= QUARANTINE_AFTER then
      end_run(prefix, run, 'error', 'Quarantined', 'the run took ' .. attempts ..
        ' coordinators down without making progress')
      redis.call('HINCRBY', thread_key, 'epoch', 1)
      redis.call('HSET', thread_key, 'run', '', 'owner', '')
      redis.call('ZADD', prefix .. 'due', now, thread)
      return { 'QUARANTINED', run }
    end
  else
    run = redis.call('LPOP', thread_key .. ':q')
    recovered = 0
    if not run then
      redis.call('ZREM', prefix .. 'due', thread)
      return { 'NONE' }
    end
  end
  local key = run_key(prefix, run)
  local record = redis.call('HGETALL', key)
  local epoch = tonumber(field_of(head, 'epoch') or 0) + 1
  local version = tonumber(field_of(head, 'version') or 0)
  redis.call('HSET', thread_key, 'run', run, 'owner', owner, 'epoch', epoch)
  redis.call('HSET', key, 'status', 'running', 'owner', owner,
    'attempts', tonumber(field_of(record, 'attempts') or 0) + 1,
    'started', field_of(record, 'started') or now)
  redis.call('HSET', prefix .. 'leases', owner, lease)
  redis.call('ZADD', prefix .. 'due', lease, thread)
  local fields, messages, results = {}, {}, {}
  if version > 0 then
    fields = redis.call('HGETALL', thread_key .. ':f')
    messages = redis.call('LRANGE', thread_key .. ':m', 0, -1)
  end
  if recovered == 1 then
    results = redis.call('HGETALL', key .. ':w')
    redis.call('HDEL', key, 'sent') -- the next one cannot be sure of what this one sends
  end
  return { 'OK', run, epoch, version, recovered, head, record, fields, messages, results }
end

-- What a commit changes besides the thread's head. Returns where the events begin.
local function write_changes(thread_key, args, at)
  local last = at + tonumber(args[at])
  call_with('RPUSH', thread_key .. ':m', args, at + 1, last)
  at = last + 1
  last = at + 2 * tonumber(args[at])
  local kept, gone = {}, {}
  for i = at + 1, last, 2 do
    if args[i + 1] == '' then
      gone[#gone + 1] = args[i]
    else
      kept[#kept + 1] = args[i]
      kept[#kept + 1] = args[i + 1]
    end
  end
  call_with('HDEL', thread_key .. ':f', gone, 1, #gone)
  call_with('HSET', thread_key .. ':f', kept, 1, #kept)
  return last + 1
end

-- Appends events behind the one numbered seq. Returns where the run's fields begin, and the number
-- of the last event.
local function write_events(key, args, at, seq)
  local last = at + tonumber(args[at])
  for i = at + 1, last do
    seq = seq + 1
    redis.call('XADD', key .. ':e', seq .. '-0', 'd', args[i])
  end
  return last + 1, seq
end

-- Gives the thread of a run that has ended free. Returns how many runs wait for it.
local function leave_thread(thread_key, prefix, thread, now)
  local waiting = redis.call('LLEN', thread_key .. ':q')
  if waiting > 0 then
    redis.call('ZADD', prefix .. 'due', now, thread)
  else
    redis.call('ZREM', prefix .. 'due', thread)
  end
  return waiting
end

-- commit(thread key; prefix, thread, epoch, version, commit id, run, head, order, checkpoint,
--        status, drop calls, messages..., fields..., events..., run fields...)
-- The four lists each begin with their count (fields and run fields count pairs). status is
-- "running", or how the run ended; drop is "1" when the superstep's stored results are used up.
-- Returns {"OK", version, cancel wanted, runs waiting (once the run has ended)}, {"FENCED"}
-- (another owner), or {"STALE", version}.
local function commit(keys, args)
  local thread_key, prefix, thread = keys[1], args[1], args[2]
  local run, status = args[6], args[10]
  local head = redis.call('HMGET', thread_key, 'epoch', 'version', 'last_commit', 'run')
  local key = run_key(prefix, run)
  local record = redis.call('HMGET', key, 'events', 'cancelling')
  if head[3] == args[5] then
    return { 'OK', tonumber(head[2]), record[2] and 1 or 0,
      redis.call('LLEN', thread_key .. ':q') }
  end
  if head[1] ~= args[3] or head[4] ~= run then
    return { 'FENCED' }
  end
  if (head[2] or '0') ~= args[4] then
    return { 'STALE', tonumber(head[2] or 0) }
  end
  local version = tonumber(head[2] or 0) + 1
  local new_head = { 'version', version, 'last_commit', args[5], 'head', args[7], 'order', args[8] }
  local at, seq = write_events(key, args, write_changes(thread_key, args, 12),
    tonumber(record[1] or 0))
  local new_record = { 'events', seq }
  for i = at + 1, at + 2 * tonumber(args[at]) do
    new_record[#new_record + 1] = args[i]
  end
  redis.call('RPUSH', thread_key .. ':c', args[9])
  if args[11] == '1' then
    redis.call('DEL', key .. ':w')
  end
  if status == 'running' then
    redis.call('HSET', thread_key, unpack(new_head))
    redis.call('HSET', key, 'attempts', 1, unpack(new_record))
    return { 'OK', version, record[2] and 1 or 0, 0 }
  end
  local now = now_ms()
  redis.call('HSET', thread_key, 'run', '', 'owner', '', unpack(new_head))
  redis.call('HSET', key, 'status', status, 'ended', now, unpack(new_record))
  redis.call('DEL', key .. ':w')
  if record[2] then
    redis.call('SREM', prefix .. 'cancels', run)
  end
  return { 'OK', version, 0, leave_thread(thread_key, prefix, thread, now) }
end

-- result(thread key; prefix, epoch, run, call id, bytes, ...pairs)
-- Stores outcomes of calls before the superstep is complete.
local function result(keys, args)
  local head = redis.call('HMGET', keys[1], 'epoch', 'run')
  if head[1] ~= args[2] or head[2] ~= args[3] then
    return { 'FENCED' }
  end
  call_with('HSET', run_key(args[1], args[3]) .. ':w', args, 4, #args)
  return { 'OK' }
end

-- release(thread key; prefix, thread, epoch, sent): gives a run back unfinished (drain); costs no
-- attempt. sent: the packed ids of the superstep's calls that were sent; "" when that is not sure.
local function release(keys, args)
  local head = redis.call('HMGET', keys[1], 'epoch', 'run')
  if head[1] ~= args[3] or not head[2] or head[2] == '' then
    return { 'FENCED' }
  end
  local key = run_key(args[1], head[2])
  redis.call('HSET', keys[1], 'owner', '')
  redis.call('HINCRBY', key, 'attempts', -1)
  if args[4] ~= '' then
    redis.call('HSET', key, 'sent', args[4])
  end
  redis.call('ZADD', args[1] .. 'due', now_ms(), args[2])
  return { 'OK' }
end

-- renew(due key; prefix, owner, lease_ms): prolongs owner's lease on the shard; lease_ms 0 ends it.
-- Returns {"KEPT" or "LAPSED", runs of the shard that somebody wants cancelled...}. LAPSED: there
-- was no lease any more, so that others may have claimed what owner holds.
local function renew(_, args)
  local now = now_ms()
  local answer = redis.call('SMEMBERS', args[1] .. 'cancels')
  table.insert(answer, 1, lease_alive(args[1], args[2], now) and 'KEPT' or 'LAPSED')
  if tonumber(args[3]) == 0 then
    redis.call('HDEL', args[1] .. 'leases', args[2])
  else
    redis.call('HSET', args[1] .. 'leases', args[2], now + tonumber(args[3]))
  end
  return answer
end

-- sweep(due key; prefix, owner, limit): the threads of the shard that owner should claim now:
-- those whose owner's lease is gone, those it owns (it passes over what it really holds, so that
-- nothing it has lost sight of stays unfound), and waiting ones. Recovered ones come first.
local function sweep(keys, args)
  local prefix, now = args[1], now_ms()
  local found, waiting = {}, {}
  local due = redis.call('ZRANGEBYSCORE', keys[1], '-inf', now, 'LIMIT', 0, args[3])
  for _, thread in ipairs(due) do
    local head = redis.call('HMGET', prefix .. 't:' .. thread, 'run', 'owner')
    if not head[1] or head[1] == '' then
      waiting[#waiting + 1] = thread
    elseif lease_alive(prefix, head[2], now) then
      redis.call('ZADD', keys[1], redis.call('HGET', prefix .. 'leases', head[2]), thread)
      if head[2] == args[2] then
        found[#found + 1] = thread
      end
    else
      found[#found + 1] = thread
    end
  end
  for _, thread in ipairs(waiting) do
    found[#found + 1] = thread
  end
  for _, owner in ipairs(redis.call('HKEYS', prefix .. 'leases')) do
    if not lease_alive(prefix, owner, now) then
      redis.call('HDEL', prefix .. 'leases', owner)
    end
  end
  return found
end

-- cancel(thread key; prefix, thread, run)
-- Returns {"CANCELLED"} when it waited, {"CANCELLING"} when its owner must act, {"ENDED", status},
-- {"UNKNOWN"}.
local function cancel(keys, args)
  local thread_key, prefix, run = keys[1], args[1], args[3]
  local status = redis.call('HGET', run_key(prefix, run), 'status')
  if not status then
    return { 'UNKNOWN' }
  end
  if status == 'queued' then
    redis.call('LREM', thread_key .. ':q', 0, run)
    end_run(prefix, run, 'cancelled', 'CancelledError', 'cancelled before it started')
    return { 'CANCELLED' }
  end
  if status ~= 'running' then
    return { 'ENDED', status }
  end
  redis.call('SADD', prefix .. 'cancels', run)
  redis.call('HSET', run_key(prefix, run), 'cancelling', 1)
  return { 'CANCELLING' }
end

-- refuse(thread key; prefix, thread, run, type, reason, field, value, ...)
-- Keeps a submission that cannot run, with its reason, under its run id.
local function refuse(_, args)
  local prefix, run = args[1], args[3]
  local key = run_key(prefix, run)
  local status = redis.call('HGET', key, 'status')
  if status then
    return { 'KNOWN', status }
  end
  redis.call('HSET', key, 'status', 'refused', 'thread', args[2], 'created', now_ms())
  call_with('HSET', key, args, 6, #args)
  redis.call('ZADD', prefix .. 'runs', now_ms(), run)
  end_run(prefix, run, 'refused', args[4], args[5])
  return { 'REFUSED' }
end

redis.register_function('fl_submit', submit)
redis.register_function('fl_claim', claim)
redis.register_function('fl_commit', commit)
redis.register_function('fl_result', result)
redis.register_function('fl_release', release)
redis.register_function('fl_renew', renew)
redis.register_function('fl_sweep', sweep)
redis.register_function('fl_cancel', cancel)
redis.register_function('fl_refuse', refuse)
