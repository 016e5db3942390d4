
-- The steps of a run's owner: claim, commit, result, release.

local EPOCH_MAX = 9007199254740991 -- above it a Lua number has gaps
local CLOCK_BEYOND = 'ERR the clock of this Redis stands beyond the year 2255'
-- What a commit reads of its thread, when the run ends with it.
local END_READS = { 'look', 'ttl', 'asked', 'rare' }

-- Returns a number that no claim of the thread has had, also when this server has forgotten some:
-- a replica that took over may lack the last ones. micros, those of TIME, go on while claims are
-- forgotten; floor, the highest epoch that the owner has seen, makes it sure that no owner gets
-- one twice, whatever the clocks do. Exact in a Lua number until the year 2255.
local function next_epoch(old, floor, micros)
  return math.max(tonumber(old or 0) + 1, tonumber(floor) + 1, micros)
end

-- Takes the next run that waits for the thread and can be read; one whose record is gone was deleted by hand. Returns
-- it and its record, as HGETALL answers, or nil. way: of the thread's hash; those that are to make way end, OUSTED_MAX at most:
-- then true is the third that is returned, and there may be others. damaged gets those that cannot be read.
local function take_waiting(thread_key, prefix, way, damaged)
  local ousted = 0
  while ousted + #damaged < OUSTED_MAX do
    local run = redis.call('LPOP', thread_key .. ':q')
    if way and (not run or makes_way(way, run)) then
      redis.call('HDEL', thread_key, 'way')
      way = nil
    end
    if way then
      oust(prefix, run, string.match(way, ' (.*)$'), string.match(way, '^%a+'))
      ousted = ousted + 1
    else
      local record = run and redis.pcall('HGETALL', run_key(prefix, run))
      if record and record.err then
        damaged[#damaged + 1], damaged.fault = run, record
      elseif not run or field_of(record, 'status') == 'queued' then
        return run, record
      end
    end
  end
  return nil, nil, true
end

-- The same, with what is the matter as the fourth where there is nobody else. Those that cannot be read keep their places: somebody may
-- mend them.
local function pop_waiting(thread_key, prefix, way)
  local damaged = {}
  local run, record, is_more = take_waiting(thread_key, prefix, way, damaged)
  if #damaged > 0 then
    local line = thread_key .. ':q'
    local others = redis.call('LRANGE', line, 0, -1)
    redis.call('DEL', line)
    call_with('RPUSH', line, damaged, 1, #damaged)
    call_with('RPUSH', line, others, 1, #others)
  end
  return run, record, is_more, not run and damaged.fault
end

-- The deadline of a run, whose record is {name: value}, counts from its first claim. Returns how many ms are left, or -1.
local function take_deadline(key, record, now)
  local length = tonumber(record.deadline_ms or nil)
  if not length then
    return -1
  end
  local last = tonumber(record.deadline or nil)
  if not last then
    last = now + length
    redis.call('HSET', key, 'deadline', string.format('%.0f', last))
  end
  return math.max(0, math.min(last - now, length))
end

-- Whether owner was the last one to own a thread, with that epoch, and left it at that version.
local function has_kept(head, owner, epoch, version)
  return epoch and head.epoch == epoch and head.version == version and head.left == owner
end

-- `look` of a thread is its gate: "owner epoch version id", of the owner's last commit, or without id of
-- its claim, which is of one run. A commit that finds there what it expects has nothing else to check; so
-- whatever concerns it changes the gate. With "!" in front: the next one has to look at what is rarely there.

-- The gate of which a thread's `look` says that there is something to look at; found: what is there.
local function marked(found)
  return string.sub(found, 1, 1) == '!' and found or '!' .. found
end

-- The same without the mark.
local function unmarked(found)
  return found and string.match(found, '^!?(.*)$')
end

-- What the thread's hash gets by a claim, {name, value, ...}, beside what give writes. `rare` is a run whose
-- record its end has to read, of children and a webhook.
local function begun(head, run, record, attempts, gate)
  local is_marked = attempts ~= '1' or head.rolled or head.cancelling == run or record.sent or record.given
  local more = { 'attempts', attempts, 'look', is_marked and '!' .. gate or gate }
  if record.webhook or record.children then
    more[5], more[6] = 'rare', run
  end
  return more
end

-- A claim's arguments are those of its thread and of who asks: args[1] to args[8], the prefix, thread, owner,
-- lease_ms, floor, name, and epoch and version of the messages that the owner has kept, if any (else "").

-- The number of a claim's epoch; nil when the clock of this Redis stands beyond the year 2255.
local function epoch_of(args, head, micros)
  local number = next_epoch(head.epoch, args[5], micros)
  return number <= EPOCH_MAX and number or nil
end

-- What the first commit finds of who claims a run.
local function first_gate(args, epoch, version)
  return args[3] .. ' ' .. epoch .. ' ' .. text(version) .. ' '
end

-- Gives run to who claims it, as of now, with that epoch; more: fields of the thread's hash.
local function give(thread_key, args, run, head, epoch, now, more)
  local prefix, owner, length = args[1], args[3], tonumber(args[4])
  if head.hold then
    redis.call('HDEL', thread_key, 'hold') -- it was of the claim before
  end
  redis.call('HSET', thread_key, 'run', run, 'owner', owner, 'epoch', epoch, unpack(more))
  make_lease(prefix, owner, now, length)
  redis.call('ZADD', prefix .. 'due', text(now + length), args[2])
  if head.asked then
    redis.call('ZREM', prefix .. 'asks', args[2])
  end
end

-- What a thread holds, for who claims it: its fields and messages; nil for fields where there are none, and
-- for messages that are kept: if the epoch and version of these are the thread's, and the owner is who left
-- it, no other can have written any since.
local function contents(thread_key, args, head, version)
  if version == 0 then
    return false, {}
  end
  return redis.call('HGETALL', thread_key .. ':f'), not has_kept(head, args[3], args[7], args[8]) and
    redis.call('LRANGE', thread_key .. ':m', 0, -1)
end

-- What who gave the run back has said of the calls that it sent is for the claim behind that alone: whose it is sends
-- others. But as long as its answer is lost nobody has made anything of it: sent again, it is given the same once more. It is
-- the same when it says the same of its owner and floor, for an answer that has come raises the floor of the next.
local function hand_on_sent(key, args, holder, record, flat_record)
  local ticket = args[3] .. ' ' .. args[5] .. ' '
  local length = string.len(ticket)
  if record.sent then
    redis.call('HDEL', key, 'sent')
    redis.call('HSET', key, 'given', ticket .. record.sent)
  elseif record.given and holder == args[3] and string.sub(record.given, 1, length) == ticket then
    set_field(flat_record, 'sent', string.sub(record.given, length + 1))
  else
    redis.call('HDEL', key, 'given')
  end
end

-- claim(thread key; prefix, thread, owner, lease_ms, floor, name[, epoch, version[, attempts[, again]]])
-- Takes the thread's active run when its owner's lease is gone, or when the owner is the one who
-- asks (the answer to its first claim was lost), else the first waiting one.
-- Raises the epoch: whoever owned the thread before is fenced. name is the owner's, for people.
-- attempts: an active run is not taken when this were one more; {"SUSPECT", run, which one it were}.
-- again: "1": it was sent before, and its answer was lost; a run that it has taken then counts it once.
-- Returns {"OK", run, epoch, version, recovered, thread hash, run hash (both as they were), fields,
-- messages, pending writes (contents; nil where there are none), ms until its deadline or -1}, or {"BUSY"},
-- {"NONE"}, {"QUARANTINED", run}.
local function claim(keys, args)
  local thread_key, prefix, thread, owner = keys[1], args[1], args[2], args[3]
  local flat_head = redis.call('HGETALL', thread_key)
  local head = line_of(flat_head, 1)
  local now, micros = clock()
  local run = head.run
  local number, version = epoch_of(args, head, micros), number_of(head.version or '0')
  if not number then
    return redis.error_reply(CLOCK_BEYOND)
  end
  local epoch = text(number)
  local base = text(version)
  base = head.rollback or base -- the version that a rollback of the run leads to
  local recovered, flat_record = 1, nil
  if run and run ~= '' then
    local holder = head.owner
    if holder ~= owner and lease_alive(prefix, holder, now) then
      return { 'BUSY' }
    end
    if holder ~= owner and is_held(holder, head.hold, now) then
      return { 'BUSY' }
    end
    flat_record = redis.call('HGETALL', run_key(prefix, run))
    -- Commits do not count the events in the record.
    set_field(flat_record, 'events', last_event(prefix, run))
    local attempts = settle(flat_record, head, args[10] == '1' and holder == owner)
    if attempts >= QUARANTINE_AFTER then
      quarantine(thread_key, prefix, thread, run, attempts, epoch)
      return { 'QUARANTINED', run }
    end
    if attempts >= (tonumber(args[9]) or math.huge) then
      return { 'SUSPECT', run, attempts + 1 }
    end
  else
    local is_more, fault
    run, flat_record, is_more, fault = pop_waiting(thread_key, prefix, head.way)
    recovered = 0
    if fault then
      redis.call('ZADD', prefix .. 'due', now + CLOCK_SET_BACK, thread)
      return fault
    end
    if is_more then
      return { 'BUSY' } -- whoever looks at the shard next goes on
    end
    if not run then
      redis.call('ZREM', prefix .. 'due', thread)
      return { 'NONE' }
    end
  end
  local key, record = run_key(prefix, run), line_of(flat_record, 1)
  local left = take_deadline(key, record, now)
  local attempts = text((number_of(record.attempts or '0') or 0) + 1)
  redis.call('HSET', key, 'status', 'running', 'owner', owner, 'coordinator', args[6],
    'base', record.base or base, 'attempts', attempts,
    'events', record.events or '0', 'started', record.started or text(now))
  local more = begun(head, run, record, attempts, first_gate(args, epoch, version))
  if recovered == 1 then
    take_over(key, record, tonumber(attempts), tonumber(args[4]), now, more)
  end
  give(thread_key, args, run, head, epoch, now, more)
  local fields, messages = contents(thread_key, args, head, version)
  local results = false
  if recovered == 1 then
    results = redis.call('HGETALL', key .. ':w')
    hand_on_sent(key, args, head.owner, record, flat_record)
  end
  return { 'OK', run, number, version, recovered, flat_head, flat_record, fields, messages, results,
    left }
end

-- Appends a commit's events, {id, event, ...} of args from first to last. Redis refuses one that is not
-- above the last one's: they come before all else. Returns the last event's number, or nil.
local function write_events(key, args, first, last)
  for i = first, last, 2 do
    redis.call('XADD', key .. ':e', args[i], 'd', args[i + 1])
  end
  return last > first and string.match(args[last - 1], '^%d+') or nil
end

-- Changes a thread's fields, {name, value, ...} of args from first to last; "": it is gone.
local function write_fields(thread_key, args, first, last)
  local kept, gone = {}, {}
  for i = first, last, 2 do
    if args[i + 1] == '' then
      gone[#gone + 1] = args[i]
    else
      kept[#kept + 1] = args[i]
      kept[#kept + 1] = args[i + 1]
    end
  end
  call_with('HDEL', thread_key .. ':f', gone, 1, #gone)
  call_with('HSET', thread_key .. ':f', kept, 1, #kept)
end

-- What is answered to a commit that has found something else than its gate; nil: it may be done.
local function not_next(thread_key, args, found, is_end)
  local head = redis.call('HMGET', thread_key, 'owner', 'epoch', 'run', 'version', 'last_commit',
    'cancelling')
  local owner, epoch, version = string.match(args[2], '^(%S*) (%S*) (%S*) ')
  local run = args[5]
  local is_owner = owns(head, owner, epoch, run)
  local last = is_end and head[5] or unmarked(found)
  -- Done before, and its answer was lost. An end left the thread to others; but who was to go on
  -- and has lost the run meanwhile must not.
  if last == args[3] and (is_owner or is_end) then
    -- Written again, so that a WAIT behind it waits for the first time's replicas.
    redis.call('HSET', thread_key, 'look', found or '')
    return { 'OK', tonumber(head[4]), head[6] == run and 1 or 0,
      redis.call('LLEN', thread_key .. ':q') }
  end
  if not is_owner then
    return fenced(thread_key, args[1], epoch, run)
  end
  local is_next = (head[4] or '0') == version
  return not is_next and { 'STALE', tonumber(head[4] or 0) } or nil
end

-- What a commit looks at only when it has not found its gate (begun, want_cancelled). Returns whether
-- somebody wants the run cancelled.
local function look(thread_key, key, run, is_end)
  redis.call('HDEL', key, 'given')
  local rare = redis.call('HMGET', thread_key, 'cancelling', 'rolled', 'attempts')
  if rare[2] and rare[2] ~= run then
    redis.call('HDEL', thread_key, 'rollback', 'rolled') -- run began there
  end
  if rare[3] ~= '1' and not is_end then
    forgive(thread_key, key)
  end
  return rare[1] == run
end

-- What the record of a run that ends by a commit says of children, a webhook, and that somebody wants it
-- cancelled: none of it is there when the gate was found, and the thread's `rare` is another run.
local function end_rare(thread_key, prefix, run, status, now)
  local record = redis.call('HMGET', run_key(prefix, run), 'cancelling', 'children', 'webhook')
  if record[1] then
    redis.call('SREM', prefix .. 'cancels', run)
    redis.call('HDEL', thread_key, 'cancelling')
  end
  leave_children(prefix, run, status, record[2])
  note_end(prefix, run, record[3], now)
end

-- What becomes of a thread, and of the record of a run, that ends by a commit. head: what commit has read;
-- looks: it has not found its gate; events: the number of its last one, or nil; args from index first on: more
-- fields of its record. Returns how many runs wait.
local function end_by_commit(thread_key, args, status, head, looks, events, first)
  local prefix, run, now = args[1], args[5], now_ms()
  local key, thread = run_key(prefix, run), string.sub(thread_key, #prefix + 3)
  local ttl, asked = head[2], head[3]
  redis.call('HSET', key, 'status', status, 'ended', text(now), 'final', args[4], 'events',
    events or last_event(prefix, run), unpack(args, first))
  redis.call('DEL', key .. ':w')
  count_end(prefix, status)
  if looks or head[4] == run then
    end_rare(thread_key, prefix, run, status, now)
  end
  if field_of(args, 'dead', first) then
    redis.call('ZADD', prefix .. 'dead', now, run)
  end
  local rollback = looks and redis.call('HGET', thread_key, 'rollback')
  if rollback then -- it waits if it did where it is put back to
    note_wait(thread_key, prefix, thread, head_put_back(thread_key, rollback, args[4]), asked or now, asked)
  else
    note_wait(thread_key, prefix, thread, args[7], status ~= 'interrupted' and asked or now, asked)
  end
  if ttl then
    keep_until(prefix, thread, ttl, now)
  end
  return leave_thread(thread_key, prefix, thread, now)
end

-- The fields head and order of a thread whose run ends; none when they stay as they are.
local function head_of(args)
  return args[8] ~= '' and { 'head', args[7], 'order', args[8] } or {}
end

-- commit(thread key; prefix, gate, next gate, version, run, what, head, order, checkpoint, messages...,
--        fields..., events..., run fields...)
-- gate: what `look` of the thread is behind the owner's last commit, or its claim; next gate: behind this one;
-- version: the new one. what: status, drop, and how many messages there are, fields and events, "running 0 1 0 1".
-- A field is its name and value, an event its id in the run's log and itself. status is "running", or how the
-- run ended: then head and order may be "", and stay as they are. drop is "1" when the superstep's stored results
-- are used up. Run fields are of a run that ends, but for `input`; with a field `dead`, the reason, it is kept
-- among the dead letters.
-- Returns 1 (done, and nothing else is to be said: the version is one more), or {"OK", version, cancel
-- wanted, runs waiting (once the run has ended)}, {"FENCED"} (another owner), or {"STALE", version}.
local function commit(keys, args)
  local thread_key, run, what = keys[1], args[5], what_of(args[6])
  local status = what.status
  local is_end = status ~= 'running'
  local head = is_end and redis.call('HMGET', thread_key, unpack(END_READS))
  local found = is_end and head[1] or not is_end and redis.call('HGET', thread_key, 'look')
  local looks = found ~= args[2]
  local answer = looks and not_next(thread_key, args, found, is_end)
  if answer then
    return answer
  end
  local key = run_key(args[1], run)
  local messages_end = 9 + what.messages
  local fields_end = messages_end + 2 * what.fields
  local events_end = fields_end + 2 * what.events
  local events = write_events(key, args, fields_end + 1, events_end)
  if is_end and status ~= 'success' and redis.call('HEXISTS', thread_key, 'head') == 0 then
    -- What a copy has left that came to nothing (fl_fill).
    redis.call('DEL', thread_key .. ':m', thread_key .. ':c')
  end
  call_with('RPUSH', thread_key .. ':m', args, 10, messages_end)
  if what.fields > 0 then
    write_fields(thread_key, args, messages_end + 1, fields_end)
  end
  redis.call('RPUSH', thread_key .. ':c', args[9])
  local is_wanted_ended = looks and look(thread_key, key, run, is_end)
  if is_end then
    redis.call('HSET', thread_key, 'version', args[4], 'look', args[3], 'last_commit', args[3], 'run', '',
      'owner', '', 'left', string.match(args[2], '^%S*'), unpack(head_of(args)))
    local waiting = end_by_commit(thread_key, args, status, head, looks, events, events_end + 1)
    return waiting > 0 and { 'OK', tonumber(args[4]), 0, waiting } or 1
  end
  redis.call('HSET', thread_key, 'version', args[4], 'look', is_wanted_ended and '!' .. args[3] or args[3],
    'head', args[7], 'order', args[8])
  if what.drops then
    redis.call('DEL', key .. ':w')
  end
  if #args > events_end then
    call_with('HSET', key, args, events_end + 1, #args)
  end
  return is_wanted_ended and { 'OK', tonumber(args[4]), 1, 0 } or 1
end

-- result(thread key; prefix, owner, epoch, run, version, call id, bytes, ...pairs)
-- Stores outcomes of calls before the superstep is complete: progress, like a commit. version: the
-- thread's, as its owner believes; "" asks for owner and epoch alone.
-- Returns {"OK"}, {"FENCED"}, or {"STALE", version}: the next commit would be, and drop them.
local function result(keys, args)
  local head = redis.call('HMGET', keys[1], 'owner', 'epoch', 'run', 'version', 'attempts')
  if not owns(head, args[2], args[3], args[4]) then
    return fenced(keys[1], args[1], args[3], args[4])
  end
  if args[5] ~= '' and (head[4] or '0') ~= args[5] then
    return { 'STALE', tonumber(head[4] or 0) }
  end
  if #args > 5 then
    local key = run_key(args[1], args[4])
    call_with('HSET', key .. ':w', args, 6, #args)
    if head[5] ~= '1' then
      forgive(keys[1], key)
    end
  end
  return { 'OK' }
end

-- release(thread key; prefix, thread, owner, epoch, sent, version): gives a run back unfinished
-- (drain); costs no attempt, and gives none back where this claim was none. sent: the packed ids of the calls that were sent in the superstep behind
-- version; "" when that is not sure, as it is not when Redis has forgotten that version.
local function release(keys, args)
  local head = redis.call('HMGET', keys[1], 'owner', 'epoch', 'run', 'version', 'attempts')
  if not head[3] or head[3] == '' or not owns(head, args[3], args[4], head[3]) then
    return fenced(keys[1], args[1], args[4], head[3] or '')
  end
  local key = run_key(args[1], head[3])
  redis.call('HSET', keys[1], 'owner', '', 'look', '')
  if tonumber(redis.call('HGET', key, 'attempts') or 0) >= tonumber(head[5] or 0) then
    redis.call('HINCRBY', key, 'attempts', -1)
  end
  -- For a library before this one, which counts in `seq`, and else in the record.
  redis.call('HDEL', keys[1], 'seq', 'hold')
  redis.call('HSET', key, 'events', last_event(args[1], head[3]))
  redis.call('HDEL', key, 'given')
  if args[5] ~= '' and (head[4] or '0') == (args[6] or head[4] or '0') then
    redis.call('HSET', key, 'sent', args[5])
  end
  redis.call('ZADD', args[1] .. 'due', now_ms(), args[2])
  return { 'OK' }
end

register('fl_claim', claim)
register('fl_advance', commit)
register('fl_result', result)
register('fl_release', release, 'allow-oom')
