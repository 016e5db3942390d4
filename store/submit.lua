
-- Runs come: submitted, refused, retried; or somebody wants one cancelled.

local KEPT_BY_RETRY = { 'agent', 'input', 'options', 'deadline_ms', 'priority', 'tenant',
  'metadata', 'webhook', 'assistant' }

-- Entries of the inbox that are looked at for one reading, and how long they may be together.
local AHEAD_MAX, AHEAD_BYTES_MAX = 1000, 16777216

-- Asks for the end of run, which goes on in a thread: its owner hears of it with the next commit (from
-- the thread's hash) or the next renewal.
local function want_cancelled(thread_key, prefix, run)
  local found = redis.call('HGET', thread_key, 'look') or ''
  redis.call('SADD', prefix .. 'cancels', run)
  redis.call('HSET', run_key(prefix, run), 'cancelling', '1')
  redis.call('HSET', thread_key, 'cancelling', run, 'look', marked(found))
end

-- The thread is to be put back to what it was before run, which goes on there: decided once more, as far back as before.
local function want_back(thread_key, prefix, run)
  local head = redis.call('HMGET', thread_key, 'rollback', 'version')
  local base = head[1] or redis.call('HGET', run_key(prefix, run), 'base') or head[2] or 0
  redis.call('HSET', thread_key, 'rollback', base, 'rolled', run)
  redis.call('HSET', run_key(prefix, run), 'rolled_back', 1)
end

-- Ends what waits on thread, and asks for the end of what goes on there, so that run is next.
-- Of very many that wait the first ones end at once, the others when somebody claims (pop_waiting).
-- By "rollback" the thread is to be put back to what it was before the active run: the head's
-- `rollback` is that version, `rolled` the run. Whoever begins the next one does it, and its first
-- commit strikes both out (commit): it is decided here, and a death forgets nothing of it.
local function make_way(thread_key, prefix, run, strategy)
  local waiting = redis.call('LRANGE', thread_key .. ':q', 0, OUSTED_MAX - 1)
  for _, one in ipairs(waiting) do
    oust(prefix, one, run, strategy)
  end
  redis.call('LTRIM', thread_key .. ':q', #waiting, -1)
  if redis.call('LLEN', thread_key .. ':q') > 0 then
    redis.call('HSET', thread_key, 'way', strategy .. ' ' .. run)
  else
    redis.call('HDEL', thread_key, 'way')
  end
  local active = redis.call('HGET', thread_key, 'run')
  if not active or active == '' then
    return
  end
  want_cancelled(thread_key, prefix, active)
  redis.call('HSET', run_key(prefix, active), 'replaced_by', run)
  if strategy == 'rollback' then
    want_back(thread_key, prefix, active)
  end
end

-- Why run, whose field `multitask` is strategy, is refused by a thread that is not free, or nil.
local function busy_reason(thread_key, thread, strategy)
  local other = strategy == 'reject' and busy_with(thread_key)
  return other and "thread '" .. thread .. "' is busy with run '" .. other ..
    "': wait for its end, or submit with multitask enqueue, interrupt or rollback"
end

local function reject(prefix, run, reason)
  redis.call('HSET', run_key(prefix, run), 'rejected', reason)
  end_run(prefix, run, 'refused', 'ThreadBusyError', reason)
end

-- Lines run up, which is not refused. Its field `multitask` says what becomes of a thread that is not
-- free: "interrupt" and "rollback" end what goes on and what waits, else it waits.
local function take_place(thread_key, prefix, thread, run, record, now)
  if record.multitask == 'interrupt' or record.multitask == 'rollback' then
    make_way(thread_key, prefix, run, record.multitask)
  end
  return line_up(thread_key, prefix, thread, run, record, now)
end

-- Whether the id of an entry of the inbox is not above another's.
local function is_no_later(entry, other)
  local ms, number = string.match(entry, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  if not ms or not other_ms then
    return false
  end
  return tonumber(ms) < tonumber(other_ms) or ms == other_ms and tonumber(number) <= tonumber(other_number)
end

-- What is to be answered to a submission that is known, and left as it is, or nil; and then how many runs had its id lately
-- that were deleted (forget_run), as text, or nil: what becomes its field `again`.
-- Known is also what came by entry of the inbox, or one behind it, ended, and was deleted: who was to delete the entry died, and
-- nobody has done it since (chores.lua); or who had read it slept while others did all of that. For it a run notes the last
-- entry that it was submitted by.
local function known(prefix, run, entry)
  local key = run_key(prefix, run)
  local record = redis.call('HMGET', key, 'entry', 'last_entry', 'status', 'rejected')
  if record[3] then
    if entry and not is_no_later(entry, record[2] or record[1] or '') then
      redis.call('HSET', key, 'last_entry', entry)
    end
    return record[4] and { 'REJECTED', record[4] } or { 'KNOWN', record[3] }
  end
  if redis.call('EXISTS', prefix .. 'forgotten', again_key(run)) == 0 then -- nearly always
    return nil
  end
  local noted = redis.call('GET', again_key(run)) or ''
  local last = string.match(noted, ' (.*)$') or
    string.match(redis.call('HGET', prefix .. 'forgotten', run) or '', '^[^ ]+')
  if entry and last and is_no_later(entry, last) then
    return { 'FORGOTTEN' }
  end
  local again = string.match(noted, '^%d+')
  return nil, again ~= '0' and again or nil
end

-- A submission that says how long it is to wait (`after`, ms) has a start (`at`) that counts from its entry's id. Ids never go
-- back: when the clock has been set back they are ahead of it until it has caught up. None was submitted later than now.
-- fields: {name: value}, as in args from index first on.
local function bound_start(fields, now, args, first)
  local after = tonumber(fields.after or nil)
  if after and tonumber(fields.at) > now + after then
    fields.at = text(now + after)
    for i = first, #args, 2 do
      if args[i] == 'at' then
        args[i + 1] = fields.at
      end
    end
  end
end

local function is_delayed(fields, now)
  local at = tonumber(fields.at or nil)
  return at and at > now
end

-- Fails where a key of the thread that the next steps write to is of another type, while nothing is written.
local function check_types(thread_key)
  redis.call('HLEN', thread_key)
  redis.call('LLEN', thread_key .. ':q')
  redis.call('LLEN', thread_key .. ':r')
end

-- A run that is not known gets its place; fields: {name: value}, as in args from index first on; again: as known tells it.
-- Answers as submit does.
local function enter(thread_key, prefix, thread, run, fields, now, args, first, again)
  check_types(thread_key)
  if again then
    args[#args + 1], args[#args + 2] = 'again', again
  end
  if is_delayed(fields, now) then
    record_run(prefix, thread, run, unclaimed('delayed'),
      { kind = 'delayed', start = tonumber(fields.at), agent = fields.agent }, now, args, first)
    -- Who asks for the thread finds it from here on, though nothing goes on or waits on it.
    if not redis.call('HGET', thread_key, 'created') then
      make_thread(thread_key, prefix, thread, fields, now)
    end
    note_ttl(thread_key, prefix, thread, args, first, now)
    redis.call('ZADD', prefix .. 'later', tonumber(fields.at), run)
    return { 'DELAYED' }
  end
  local reason = busy_reason(thread_key, thread, fields.multitask)
  if reason then
    record_run(prefix, thread, run, unclaimed('queued'), nil, now, args, first)
    reject(prefix, run, reason)
    return { 'REJECTED', reason }
  end
  record_run(prefix, thread, run, unclaimed('queued'), { kind = 'queued', agent = fields.agent }, now,
    args, first)
  return take_place(thread_key, prefix, thread, run, fields, now)
end

-- submit(thread key[, record of the run that it belongs to]; prefix, thread, run, field, value, ...)
-- Queues run on thread (take_place; "reject" refuses it where that is busy), or notes it until its
-- field `at` (ms); known runs are left as they are.
-- Returns how many runs are before it, or {"DELAYED"}, {"KNOWN", status}, {"REJECTED", reason},
-- {"FORGOTTEN"}, {"LATE"}: what it belongs to is over, or is to be.
local function submit(keys, args)
  local parent = keys[2] and redis.call('HMGET', keys[2], 'status', 'cancelling')
  if parent and (parent[1] ~= 'running' or parent[2]) then
    return { 'LATE' }
  end
  local fields, now = line_of(args, 4), now_ms()
  local answer, again = known(args[1], args[3], fields.entry)
  bound_start(fields, now, args, 4)
  return answer or enter(keys[1], args[1], args[2], args[3], fields, now, args, 4, again)
end

-- Whether nothing goes on in a thread with that head, and nothing waits: nothing ever has where there is no
-- `created`.
local function is_free(thread_key, head)
  return (head.run or '') == '' and
    (not head.created or redis.call('LLEN', thread_key .. ':q') == 0)
end

-- Adds to more what is new in the hash of a thread whose next run, of those fields, is claimed when it comes; ttl: or nil.
local function begun_head(more, head, fields, ttl, now)
  if not head.created then
    more[#more + 1] = 'created'
    more[#more + 1] = text(now)
    if fields.metadata then -- as make_thread
      more[#more + 1] = 'metadata'
      more[#more + 1] = fields.metadata
    end
  end
  if ttl then
    more[#more + 1] = 'ttl'
    more[#more + 1] = ttl
  end
  return more
end

-- begin, of which the run's fields are {name: value} as well.
local function begin_with(thread_key, args, fields)
  local prefix, thread, run = args[1], args[2], args[9]
  local answer, again = known(prefix, run, fields.entry)
  if answer then
    return answer
  end
  local now, micros = clock()
  bound_start(fields, now, args, 10)
  local flat_head = redis.call('HGETALL', thread_key)
  local head = line_of(flat_head, 1)
  -- One that was here before is queued, too: who claims it then reads that from its record.
  if args[3] == '' or again or is_delayed(fields, now) or not is_free(thread_key, head) then
    return enter(thread_key, prefix, thread, run, fields, now, args, 10, again)
  end
  local number = epoch_of(args, head, micros)
  if not number then
    return redis.error_reply(CLOCK_BEYOND)
  end
  local version, ttl = number_of(head.version or '0'), fields.ttl or head.ttl or fields.usual_ttl
  record_run(prefix, thread, run, { 'status', 'running', 'attempts', '1', 'owner', args[3],
    'coordinator', args[6], 'base', head.rollback or text(version), 'started', text(now) },
    { kind = 'queued', agent = fields.agent }, now, args, 10)
  local left = take_deadline(run_key(prefix, run), fields, now)
  local epoch = text(number)
  local more = begun(head, run, fields, '1', first_gate(args, epoch, version))
  give(thread_key, args, run, head, epoch, now, begun_head(more, head, fields, ttl, now))
  if not head.created then
    list_thread(prefix, thread, fields.task, now)
  end
  if ttl then
    keep_until(prefix, thread, ttl, now)
  end
  local stored, messages = contents(thread_key, args, head, version)
  return { 'OK', run, number, version, 0, flat_head, false, stored, messages, false, left }
end

-- begin(thread key; prefix, thread, owner, lease_ms, floor, name, epoch, version, run, field, value, ...)
-- submit, and claim in the same step where the thread is free and there is an owner; epoch and version are ""
-- when nothing is kept. For coordinators from before fl_arrive.
-- Returns what submit does, or what claim does; run hash nil: it was made of the fields, and has an event.
local function begin(keys, args)
  return begin_with(keys[1], args, line_of(args, 10))
end

-- arrive(thread key, name of the run, agents; as begin)
-- begin, of a run that gets its name, of the agent as it is now: `agent` and `version` are among the fields.
-- Returns what begin does, or {"OUTDATED"}: that is not the agent's version, which may be none at all; or
-- {"TAKEN", thread}: the run's name is that of a run of another thread.
local function arrive(keys, args)
  local fields = line_of(args, 10)
  if redis.pcall('HGET', keys[3], fields.agent) ~= fields.version then
    return { 'OUTDATED' }
  end
  local thread = redis.call('SET', keys[2], args[2], 'NX', 'GET')
  if thread and thread ~= args[2] then
    return { 'TAKEN', thread }
  end
  return begin_with(keys[1], args, fields)
end

-- refuse(thread key; prefix, thread, run, type, reason, field, value, ...)
-- Keeps a submission that cannot run, with its reason, under its run id.
-- Returns {"REFUSED"}, {"KNOWN", status} or {"FORGOTTEN"}.
local function refuse(keys, args)
  local prefix, run = args[1], args[3]
  local key, answer = run_key(prefix, run), known(prefix, run, field_of(args, 'entry', 6))
  if answer then
    return answer[1] == 'REJECTED' and { 'KNOWN', 'refused' } or answer
  end
  redis.call('HSET', key, 'status', 'refused', 'thread', args[2], 'created', now_ms())
  call_with('HSET', key, args, 6, #args)
  redis.call('ZADD', prefix .. 'runs', now_ms(), run)
  end_run(prefix, run, 'refused', args[4], args[5])
  -- Of a thread whose keys are damaged it is told all the same.
  redis.call('RPUSH', prefix .. 't:' .. args[2] .. ':r', run)
  note_ttl(keys[1], prefix, args[2], args, 6, now_ms(), true)
  return { 'REFUSED' }
end

-- Whether a run of that status ended before it was done, its thread still has the version that it left, and nothing goes on there
-- or waits, which could pause where a human is to look.
local function has_left(thread_key, status, left)
  if not left or (status ~= 'error' and status ~= 'cancelled') then
    return false
  end
  local head = line_of(redis.call('HGETALL', thread_key), 1)
  return head.version == left and is_free(thread_key, head)
end

-- retry(thread key; prefix, thread, run, new run, version; left, options): queues what a dead letter was to do as
-- a new run, with that version of its agent; the old one leaves the index and names the new one. left: so, too, a run that has failed,
-- or was cancelled, as long as that is its thread's version and the thread is free; with options, if there are any, instead of its own and its input.
-- Returns {"QUEUED", runs before it}, {"KNOWN", status} (the new id is taken), {"NOT_DEAD", status,
-- the run that took its place or ""}, or {"UNKNOWN"}.
local function retry(keys, args)
  local prefix, thread, run, new_run, options = args[1], args[2], args[3], args[4], args[7]
  local key = run_key(prefix, run)
  local record = redis.call('HMGET', key, 'status', 'retried', unpack(KEPT_BY_RETRY))
  if not record[1] then
    return { 'UNKNOWN' }
  end
  if redis.call('ZSCORE', prefix .. 'dead', run) then
    options = nil
  elseif record[2] or not has_left(keys[1], record[1], args[6]) then
    return { 'NOT_DEAD', record[1], record[2] or '' }
  end
  local answer, again = known(prefix, new_run)
  if answer then
    return answer[1] == 'KNOWN' and answer or { 'KNOWN', 'refused' }
  end
  check_types(keys[1])
  local fields = { 'version', args[5], 'retry_of', run }
  if again then
    fields[5], fields[6] = 'again', again
  end
  for i, name in ipairs(KEPT_BY_RETRY) do
    local value = record[i + 2]
    if options and (name == 'input' or name == 'options') then
      value = name == 'options' and options
    end
    if value then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
  end
  redis.call('ZREM', prefix .. 'dead', run)
  redis.call('HSET', key, 'retried', new_run)
  return { 'QUEUED', enqueue(keys[1], prefix, thread, new_run, fields, 1) }
end

-- discard(thread key; prefix, run): takes a run out of the dead letters; its record stays.
-- Returns {"DISCARDED"} or {"NOT_DEAD"}.
local function discard(_, args)
  if redis.call('ZREM', args[1] .. 'dead', args[2]) == 0 then
    return { 'NOT_DEAD' }
  end
  redis.call('HSET', run_key(args[1], args[2]), 'discarded', now_ms())
  return { 'DISCARDED' }
end

-- cancel(thread key; prefix, thread, run, "rollback"?): with that word the thread is put back to what it was before it.
-- Returns {"CANCELLED"} when it waited, {"CANCELLING"} when its owner must act, {"ENDED", status},
-- {"UNKNOWN"}.
local function cancel(keys, args)
  local thread_key, prefix, thread, run = keys[1], args[1], args[2], args[3]
  local status = redis.call('HGET', run_key(prefix, run), 'status')
  if not status then
    return { 'UNKNOWN' }
  end
  if status == 'queued' or status == 'delayed' then
    if not makes_way(redis.call('HGET', thread_key, 'way'), run) then
      redis.call('LREM', thread_key .. ':q', 0, run)
    end
    redis.call('ZREM', prefix .. 'later', run)
    if args[4] == 'rollback' then
      redis.call('HSET', run_key(prefix, run), 'rolled_back', 1)
    end
    end_run(prefix, run, 'cancelled', 'CancelledError', 'cancelled before it started')
    -- Those that wait stay where they are.
    if (redis.call('HGET', thread_key, 'run') or '') == '' and
      redis.call('LLEN', thread_key .. ':q') == 0 then
      redis.call('ZREM', prefix .. 'due', thread)
    end
    return { 'CANCELLED' }
  end
  if status ~= 'running' then
    return { 'ENDED', status }
  end
  want_cancelled(thread_key, prefix, run)
  if args[4] == 'rollback' then
    want_back(thread_key, prefix, run)
  end
  return { 'CANCELLING' }
end

-- adopt(parent's thread key; prefix, parent, child, child's thread): the parent's end by error or
-- cancel is the child's, too. Returns {"OK"}, {"LATE"} (the child is to be cancelled: the parent
-- has ended so, or is about to), {"UNKNOWN"}.
local function adopt(keys, args)
  local key = run_key(args[1], args[2])
  local parent = redis.call('HMGET', key, 'status', 'cancelling')
  if not parent[1] then
    return { 'UNKNOWN' }
  end
  redis.call('HSET', key .. ':k', args[3], args[4])
  redis.call('HSET', key, 'children', 1)
  if parent[1] == 'running' then
    redis.call('HSET', keys[1], 'rare', args[2]) -- who claimed it has not read of children
  end
  if parent[2] or (parent[1] ~= 'queued' and parent[1] ~= 'delayed' and
      parent[1] ~= 'running' and parent[1] ~= 'success' and parent[1] ~= 'interrupted') then
    return { 'LATE' }
  end
  return { 'OK' }
end

-- tidy(inbox; group, idle_ms, name): forgets readers of the inbox who have left nothing behind: the
-- one of that name, who leaves, and all who have not read for idle_ms. (Redis keeps a reader for
-- ever, and forgets what was left with one that is deleted.) Returns how many.
local function tidy(keys, args)
  local readers = redis.pcall('XINFO', 'CONSUMERS', keys[1], args[1])
  local gone = 0
  for _, reader in ipairs(readers) do
    local name = field_of(reader, 'name')
    if field_of(reader, 'pending') == 0 and
      (name == args[3] or field_of(reader, 'idle') > tonumber(args[2])) then
      redis.call('XGROUP', 'DELCONSUMER', keys[1], args[1], name)
      gone = gone + 1
    end
  end
  return gone
end

-- dealt(inbox; group, id, ...): deletes entries that are dealt with. What cannot be deleted is not
-- acknowledged: it would lie in the stream for ever. Returns how many there were.
local function dealt(keys, args)
  local gone = redis.call('XDEL', keys[1], unpack(args, 2))
  redis.call('XACK', keys[1], unpack(args))
  return gone
end

-- What an entry gives as the field of that name, or nil.
local function given(fields, name)
  return fields[name] ~= '' and fields[name] or nil
end

-- ahead(inbox; group, id, ...): of entries that somebody has read and not dealt with, that stand before the
-- last of these, and are none of them: "", then id, name of the thread, id of the run, ... Where not all were
-- looked at, the id of the last one that was stands for "".
local function ahead(keys, args)
  local own, found, bytes = {}, { '' }, 0
  for i = 2, #args do
    own[args[i]] = true
  end
  local pending = redis.call('XPENDING', keys[1], args[1], '-', '(' .. args[#args], AHEAD_MAX)
  for _, one in ipairs(pending) do
    local entry = not own[one[1]] and redis.call('XRANGE', keys[1], one[1], one[1])[1]
    if entry then
      local fields = line_of(entry[2], 1)
      local run = given(fields, 'run') or 'run-' .. one[1]
      found[#found + 1] = one[1]
      found[#found + 1] = given(fields, 'thread') or run
      found[#found + 1] = run
      for _, value in pairs(fields) do
        bytes = bytes + #value
      end
      if bytes > AHEAD_BYTES_MAX then
        found[1] = one[1]
        return found
      end
    end
  end
  if #pending == AHEAD_MAX then
    found[1] = pending[AHEAD_MAX][1]
  end
  return found
end

register('fl_submit', submit)
register('fl_begin', begin)
register('fl_arrive', arrive)
register('fl_refuse', refuse)
register('fl_retry', retry)
register('fl_discard', discard, 'allow-oom')
register('fl_cancel', cancel, 'allow-oom')
register('fl_adopt', adopt)
register('fl_tidy', tidy, 'allow-oom')
register('fl_ahead', ahead, 'no-writes')
register('fl_dealt', dealt, 'allow-oom')
