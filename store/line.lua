
-- How runs line up for a thread, and how those end that nobody owns; how long a thread is kept, and
-- since when it waits for a human.

-- Added to the score in `due` of threads on which runs only wait, so that all that have an active
-- run stand before them, whatever waits.
local WAITING = 10000000000000
-- Runs of a priority come before those of the next one that were queued up to so many ms earlier:
-- none waits for ever.
local PRIORITY_STEP = 600000
local PRIORITY_USUAL = 2
local TENANT_BYTES_MAX = 32 -- as in proto/bounds.h

-- The score in `due` of a thread on which a run of priority waits.
local function waiting_score(priority, now)
  return WAITING + now + (tonumber(priority or nil) or PRIORITY_USUAL) * PRIORITY_STEP
end

-- Puts a thread without an active run where it belongs. Returns how many runs wait for it.
local function leave_thread(thread_key, prefix, thread, now)
  local run = redis.call('LINDEX', thread_key .. ':q', 0)
  if not run then
    redis.call('ZREM', prefix .. 'due', thread)
    return 0
  end
  local priority = record_field(prefix, run, 'priority')
  redis.call('ZADD', prefix .. 'due', waiting_score(priority, now), thread)
  return redis.call('LLEN', thread_key .. ':q')
end

-- Whoever looks at the shard next cancels the children of a run that has ended so; children: the
-- field of its hash.
local function leave_children(prefix, run, status, children)
  if children and status ~= 'success' and status ~= 'interrupted' then
    redis.call('SADD', prefix .. 'bereft', run)
  end
end

-- When the end of a run is to be told next; webhook_at says when that was said, and thereby whether the clock has been set
-- back since.
local function tell_at(prefix, run, now, wait_ms)
  redis.call('HSET', run_key(prefix, run), 'webhook_at', text(now))
  redis.call('ZADD', prefix .. 'hooks', text(now + wait_ms), run)
end

-- Whoever looks at the shard next tells the run's webhook; webhook: the field of its hash.
local function note_end(prefix, run, webhook, now)
  if webhook then
    redis.call('HSET', run_key(prefix, run), 'webhook_state', 'waiting')
    tell_at(prefix, run, now, 0)
  end
end

-- Of the shard's ends that are to be told last, count at most, those that were put off before the clock was set back: by
-- their times they would wait until it has caught up.
local function told_ahead(prefix, now, count)
  local found = {}
  for _, run in ipairs(redis.call('ZREVRANGE', prefix .. 'hooks', 0, count - 1)) do
    local at = redis.pcall('HGET', run_key(prefix, run), 'webhook_at')
    if type(at) == 'string' and (tonumber(at) or 0) > now then
      found[#found + 1] = run
    end
  end
  return found
end

-- Counts the ends of the shard's runs. Who counts ends nothing, and hinders no end: a damaged count is
-- left as it is.
local function count_end(prefix, status)
  redis.pcall('HINCRBY', prefix .. 'ended', status, 1)
end

-- Ends a run without an owner (cancelled in the queue, quarantined).
local function end_run(prefix, run, status, kind, reason)
  local key = run_key(prefix, run)
  local fault = cmsgpack.pack({ type = kind, message = reason })
  redis.call('HSET', key, 'status', status, 'fault', fault, 'ended', now_ms())
  redis.call('DEL', key .. ':w')
  redis.call('SREM', prefix .. 'cancels', run)
  count_end(prefix, status)
  local record = redis.call('HMGET', key, 'children', 'webhook')
  leave_children(prefix, run, status, record[1])
  note_end(prefix, run, record[2], now_ms())
  log_event(prefix, run, { kind = 'finished', status = status,
    error = { type = kind, message = reason } })
end

-- Runs that make way for another one in one step: each costs what an end costs.
local OUSTED_MAX = 1000

-- Ends a run that waits, for other, which takes its place by that strategy. What is damaged says nothing of its end.
local function oust(prefix, run, other, strategy)
  if record_field(prefix, run, 'status') == 'queued' then
    redis.call('HSET', run_key(prefix, run), 'replaced_by', other)
    if strategy == 'rollback' then
      redis.call('HSET', run_key(prefix, run), 'rolled_back', 1)
    end
    end_run(prefix, run, 'cancelled', 'CancelledError',
      "run '" .. other .. "' took its place (multitask: " .. strategy .. ')')
  end
end

-- Whether run is the one that those make way for which stand before it; way: of the thread's hash, "strategy run", or nil.
local function makes_way(way, run)
  return way and string.match(way, ' (.*)$') == run
end

-- Says when a thread's time is over; ttl is "ms action", the one of its hash, ms 0: never.
local function keep_until(prefix, thread, ttl, now)
  local ms = tonumber(string.match(ttl, '^(%d+) ') or 0)
  if ms > 0 then
    redis.call('ZADD', prefix .. 'ttl', now + ms, thread)
  else
    redis.call('ZREM', prefix .. 'ttl', thread)
  end
end

-- Says how long a thread is kept that is not lined up for: by what its submission says (args from
-- index first on are fields), what was said before, or what is usual. is_refused: of a thread that is there the
-- submission says nothing.
local function note_ttl(thread_key, prefix, thread, args, first, now, is_refused)
  local head = redis.call('HMGET', thread_key, 'ttl', 'created')
  local ttl = not (is_refused and head[2]) and field_of(args, 'ttl', first) or head[1] or
    field_of(args, 'usual_ttl', first)
  if ttl then
    redis.call('HSET', thread_key, 'ttl', ttl)
    keep_until(prefix, thread, ttl, now)
  end
end

-- Whether a thread with that head waits for a human. What nobody can read does not, nor does a child: it is its
-- parent that asks. Nearly none has
-- the word, and is read.
local function is_asking(head)
  if not string.find(head or '', 'interrupted', 1, true) then
    return false
  end
  local is_read, fields = pcall(cmsgpack.unpack, head)
  return is_read and type(fields) == 'table' and fields.status == 'interrupted' and not fields.task
end

-- The head that a thread is put back to, that of its checkpoint of version rollback; or nil. version: its newest one.
local function head_put_back(thread_key, rollback, version)
  return redis.call('LINDEX', thread_key .. ':c', tonumber(rollback) - tonumber(version) - 1) or nil
end

-- A run of thread is over, and head is what it left. since: when the thread began to wait, if it
-- does; had: it has waited before, and has the field `asked` of that.
local function note_wait(thread_key, prefix, thread, head, since, had)
  if is_asking(head) then
    redis.call('HSET', thread_key, 'asked', since)
    redis.call('ZADD', prefix .. 'asks', since, thread)
  elseif had then
    redis.call('HDEL', thread_key, 'asked')
  end
end

-- The tenant whose a name is, which begins with its name and the mark (TENANT_MARK); or nil. What can be no tenant's name
-- (tenant_is_name) is none: no key is bound to that.
local function tenant_of(name)
  local tenant = string.match(name, '^([A-Za-z0-9._-]+)~')
  return tenant and #tenant <= TENANT_BYTES_MAX and tenant or nil
end

-- The index of a tenant's threads in the shard, or nil: nobody would look there.
local function tenant_index(prefix, thread)
  local tenant = tenant_of(thread)
  return tenant and prefix .. 'threads:' .. tenant or nil
end

-- Enters a thread that is new where threads are found; but not that of a run that works for another one's call.
local function list_thread(prefix, thread, task, now)
  if task then
    return
  end
  redis.call('ZADD', prefix .. 'threads', text(now), thread)
  local index = tenant_index(prefix, thread)
  if index then
    redis.call('ZADD', index, text(now), thread)
  end
end

local function unlist_thread(prefix, thread)
  redis.call('ZREM', prefix .. 'threads', thread)
  local index = tenant_index(prefix, thread)
  if index then
    redis.call('ZREM', index, thread)
  end
end

-- Makes a thread that is new; record: of the run that it is made for, whose metadata it is found by from then on.
local function make_thread(thread_key, prefix, thread, record, now)
  redis.call('HSET', thread_key, 'created', text(now))
  if record.metadata then
    redis.call('HSET', thread_key, 'metadata', record.metadata)
  end
  list_thread(prefix, thread, record.task, now)
end

-- Puts run behind those that wait for thread; record: of its fields those that decide how.
-- Returns how many are before it.
local function line_up(thread_key, prefix, thread, run, record, now)
  local head = redis.call('HMGET', thread_key, 'created', 'run', 'ttl')
  local ttl = record.ttl or head[3] or record.usual_ttl
  if not head[1] then
    make_thread(thread_key, prefix, thread, record, now)
  end
  if ttl then
    redis.call('HSET', thread_key, 'ttl', ttl)
    keep_until(prefix, thread, ttl, now)
  end
  local before = redis.call('RPUSH', thread_key .. ':q', run) - 1
  if head[2] and head[2] ~= '' then
    before = before + 1
  else
    redis.call('ZADD', prefix .. 'due', 'LT', text(waiting_score(record.priority, now)), thread)
  end
  return before
end

-- What the record of a run begins with that nobody has claimed.
local function unclaimed(status)
  return { 'status', status, 'attempts', '0' }
end

-- Makes run's record of head, which it takes, and fields, args from index first on. event (or nil) is its
-- first.
local function record_run(prefix, thread, run, head, event, now, args, first)
  local key, at, count = run_key(prefix, run), text(now), #head
  redis.call('RPUSH', prefix .. 't:' .. thread .. ':r', run)
  head[count + 1], head[count + 2], head[count + 3], head[count + 4] = 'thread', thread, 'created', at
  if event then
    head[count + 5], head[count + 6] = 'events', '1'
    event.thread = thread
    write_event(key, run, event, 1, now)
  end
  local room = ARGUMENTS_MAX - #head
  local last = math.min(first + room - 1, #args)
  for i = first, last do
    head[#head + 1] = args[i]
  end
  redis.call('HSET', key, unpack(head))
  call_with('HSET', key, args, last + 1, #args)
  redis.call('ZADD', prefix .. 'runs', at, run)
end

-- Queues run on thread; args from index first on are its fields. Returns how many are before it.
local function enqueue(thread_key, prefix, thread, run, args, first)
  local now, record = now_ms(), line_of(args, first)
  record_run(prefix, thread, run, unclaimed('queued'), { kind = 'queued', agent = record.agent }, now,
    args, first)
  return line_up(thread_key, prefix, thread, run, record, now)
end

-- The run that thread is busy with, going on or the first that waits; or nil.
local function busy_with(thread_key)
  local run = redis.call('HGET', thread_key, 'run')
  if run and run ~= '' then
    return run
  end
  return redis.call('LRANGE', thread_key .. ':q', 0, 0)[1]
end
