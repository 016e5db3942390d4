#!lua name=flotilla
-- The atomic steps of a thread's life (store/store.h says who calls them and why;
-- docs/redis.md describes the keys). Rules of this file: every check comes before the first
-- write, since Redis does not roll back; TIME is the only clock; every key of a call carries
-- the shard's hash tag. KEYS[1] is always the thread's hash, or the shard's `due` set for
-- calls on a shard; ARGV[1] is the shard's prefix, "fl:{s17}:".

local QUARANTINE_AFTER = 5
local KEPT_BY_RETRY = { 'agent', 'input', 'options', 'deadline_ms', 'priority', 'tenant',
  'metadata', 'webhook' }
local ARGUMENTS_MAX = 1000 -- of one command, even: Lua's stack is short
-- Added to the score in `due` of threads on which runs only wait, so that all that have an active
-- run stand before them, whatever waits.
local WAITING = 10000000000000
-- Runs of a priority come before those of the next one that were queued up to so many ms earlier:
-- none waits for ever.
local PRIORITY_STEP = 600000
local PRIORITY_USUAL = 2
local SWEEP_ROUNDS = 10
local EPOCH_MAX = 9007199254740991 -- above it a Lua number has gaps
-- TIME is a wall clock. What is due later than so many ms from now, a long time for a lease, was
-- written before somebody set it back.
local CLOCK_SET_BACK = 10000

-- Every command a function calls costs 2 microseconds on top of its work, and a line in the
-- append-only file: what can be one command is one. A number among its arguments is printed with
-- 17 digits first, which costs more than a text: `text`.
local function call_with(verb, key, args, first, last)
  for from = first, last, ARGUMENTS_MAX do
    redis.call(verb, key, unpack(args, from, math.min(from + ARGUMENTS_MAX - 1, last)))
  end
end

-- Small whole numbers and their texts, as they were needed: most that go by are small, and to convert one
-- costs as much as five arguments.
local texts, numbers = {}, {}

-- A whole number as text.
local function text(number)
  local digits = texts[number]
  if not digits then
    digits = string.format('%d', number)
    if number >= 0 and number < 256 then
      texts[number] = digits
    end
  end
  return digits
end

-- What a text of digits says.
local function number_of(digits)
  local number = numbers[digits]
  if not number then
    number = tonumber(digits)
    if number and #digits < 4 then
      numbers[digits] = number
    end
  end
  return number
end

-- How many of each a text like "1 0 1" says; of what is usual, it is known.
local counts_said = {}
local function counts_of(said)
  local counts = counts_said[said]
  if not counts then
    counts = {}
    for digits in string.gmatch(said, '%d+') do
      counts[#counts + 1] = tonumber(digits)
    end
    if #said < 6 then
      counts_said[said] = counts
    end
  end
  return counts
end

-- TIME in ms, and in microseconds.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end

local function now_ms()
  return (clock())
end

local function run_key(prefix, run)
  return prefix .. 'r:' .. run
end

-- The value of name in what HGETALL answered, or in arguments from index first on, or nil.
local function field_of(flat, name, first)
  for i = first or 1, #flat, 2 do
    if flat[i] == name then
      return flat[i + 1]
    end
  end
end

-- Appends an event to the log of run, as its number seq.
local function write_event(key, run, event, seq, now)
  event.at = now
  event.run = run
  event.seq = seq
  redis.call('XADD', key .. ':e', text(seq) .. '-0', 'd', cmsgpack.pack(event))
end

-- The same for a run that nobody owns: its record knows the number of the last one.
local function log_event(prefix, run, event)
  local key = run_key(prefix, run)
  local seq = redis.call('HINCRBY', key, 'events', 1)
  write_event(key, run, event, seq, now_ms())
  return seq
end

-- The number of a run's last event, as text. While somebody owns a run, nobody else knows it: its
-- record has the number as of the claim.
local function last_event(prefix, run)
  local last = redis.call('XREVRANGE', run_key(prefix, run) .. ':e', '+', '-', 'COUNT', '1')[1]
  return last and string.match(last[1], '^%d+') or '0'
end

-- A lease is kept as "until length". One that would last for more than twice its length was made
-- before the clock was set back: it is over, or its owner's death would be noticed only when the
-- clock has caught up. An owner that is alive makes a new one soon.
local function make_lease(prefix, owner, now, length)
  redis.call('HSET', prefix .. 'leases', owner, string.format('%d %d', now + length, length))
end

-- Until when lease is good, or nil.
local function lease_end(lease, now)
  local last, length = string.match(lease or '', '^(%d+) (%d+)$')
  last, length = tonumber(last), tonumber(length)
  if last and last > now and last - now <= 2 * length then
    return last
  end
end

local function lease_alive(prefix, owner, now)
  if not owner or owner == '' then
    return false
  end
  return lease_end(redis.call('HGET', prefix .. 'leases', owner), now) ~= nil
end

-- Returns a number that no claim of the thread has had, also when this server has forgotten some:
-- a replica that took over may lack the last ones. micros, those of TIME, go on while claims are
-- forgotten; floor, the highest epoch that the owner has seen, makes it sure that no owner gets
-- one twice, whatever the clocks do. Exact in a Lua number until the year 2255.
local function next_epoch(old, floor, micros)
  return math.max(tonumber(old or 0) + 1, tonumber(floor) + 1, micros)
end

local function owns(head, owner, epoch, run)
  return head[1] == owner and head[2] == epoch and head[3] == run
end

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
  local priority = redis.call('HGET', run_key(prefix, run), 'priority')
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

-- Whoever looks at the shard next tells the run's webhook; webhook: the field of its hash.
local function note_end(prefix, run, webhook, now)
  if webhook then
    redis.call('HSET', run_key(prefix, run), 'webhook_state', 'waiting')
    redis.call('ZADD', prefix .. 'hooks', now, run)
  end
end

-- Ends a run without an owner (cancelled in the queue, quarantined).
local function end_run(prefix, run, status, kind, reason)
  local key = run_key(prefix, run)
  local fault = cmsgpack.pack({ type = kind, message = reason })
  redis.call('HSET', key, 'status', status, 'fault', fault, 'ended', now_ms())
  redis.call('DEL', key .. ':w')
  redis.call('SREM', prefix .. 'cancels', run)
  local record = redis.call('HMGET', key, 'children', 'webhook')
  leave_children(prefix, run, status, record[1])
  note_end(prefix, run, record[2], now_ms())
  log_event(prefix, run, { kind = 'finished', status = status,
    error = { type = kind, message = reason } })
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
-- index first on are fields), what was said before, or what is usual.
local function note_ttl(thread_key, prefix, thread, args, first, now)
  local ttl = field_of(args, 'ttl', first) or redis.call('HGET', thread_key, 'ttl') or
    field_of(args, 'usual_ttl', first)
  if ttl then
    redis.call('HSET', thread_key, 'ttl', ttl)
    keep_until(prefix, thread, ttl, now)
  end
end

-- Whether a thread with that head waits for a human. What nobody can read does not. Nearly none has
-- the word, and is read.
local function is_asking(head)
  if not string.find(head or '', 'interrupted', 1, true) then
    return false
  end
  local is_read, fields = pcall(cmsgpack.unpack, head)
  return is_read and type(fields) == 'table' and fields.status == 'interrupted'
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

-- Puts run behind those that wait for thread; record: of its fields those that decide how.
-- Returns how many are before it.
local function line_up(thread_key, prefix, thread, run, record, now)
  local head = redis.call('HMGET', thread_key, 'created', 'run', 'ttl')
  local ttl = record.ttl or head[3] or record.usual_ttl
  if not head[1] then
    redis.call('HSET', thread_key, 'created', text(now))
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

-- Makes run's record; args from index first on are its fields. event (or nil) is its first.
local function record_run(prefix, thread, run, status, event, now, args, first)
  local key, at = run_key(prefix, run), text(now)
  local head = { 'status', status, 'thread', thread, 'created', at, 'attempts', '0' }
  if event then
    head[9], head[10] = 'events', '1'
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
  redis.call('RPUSH', prefix .. 't:' .. thread .. ':r', run)
end

-- Those of a run's fields that decide how it lines up, of {name, value, ...} from index first on.
local function line_of(flat, first)
  local record = {}
  for i = first, #flat, 2 do
    record[flat[i]] = flat[i + 1]
  end
  return record
end

-- Queues run on thread; args from index first on are its fields. Returns how many are before it.
local function enqueue(thread_key, prefix, thread, run, args, first)
  local now, record = now_ms(), line_of(args, first)
  record_run(prefix, thread, run, 'queued', { kind = 'queued', agent = record.agent }, now, args,
    first)
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

-- Asks for the end of run, which goes on in a thread: its owner hears of it with the next commit (from
-- the thread's hash) or the next renewal.
local function want_cancelled(thread_key, prefix, run)
  redis.call('SADD', prefix .. 'cancels', run)
  redis.call('HSET', run_key(prefix, run), 'cancelling', '1')
  redis.call('HSET', thread_key, 'cancelling', run, 'look', '1')
end

-- Ends what waits on thread, and asks for the end of what goes on there, so that run is next.
-- By "rollback" the thread is to be put back to what it was before the active run: the head's
-- `rollback` is that version, `rolled` the run. Whoever begins the next one does it, and its first
-- commit strikes both out (commit): it is decided here, and a death forgets nothing of it.
local function make_way(thread_key, prefix, run, strategy)
  local reason = "run '" .. run .. "' took its place (multitask: " .. strategy .. ')'
  for _, waiting in ipairs(redis.call('LRANGE', thread_key .. ':q', 0, -1)) do
    if redis.call('HGET', run_key(prefix, waiting), 'status') == 'queued' then
      redis.call('HSET', run_key(prefix, waiting), 'replaced_by', run)
      end_run(prefix, waiting, 'cancelled', 'CancelledError', reason)
    end
  end
  redis.call('DEL', thread_key .. ':q')
  local head = redis.call('HMGET', thread_key, 'run', 'rollback', 'version')
  local active = head[1]
  if not active or active == '' then
    return
  end
  local key = run_key(prefix, active)
  want_cancelled(thread_key, prefix, active)
  redis.call('HSET', key, 'replaced_by', run)
  if strategy == 'rollback' then
    local base = head[2] or redis.call('HGET', key, 'base') or head[3] or 0
    redis.call('HSET', thread_key, 'rollback', base, 'rolled', active)
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

-- Whether run came by this entry of the inbox, ended, and was deleted: who was to delete the entry
-- died, and nobody has done it since (chores.lua).
local function is_forgotten(prefix, run, entry)
  local note = entry and redis.call('HGET', prefix .. 'forgotten', run)
  return note and string.match(note, '^[^ ]+') == entry
end

-- submit(thread key; prefix, thread, run, field, value, ...)
-- Queues run on thread (take_place; "reject" refuses it where that is busy), or notes it until its
-- field `at` (ms); known runs are left as they are.
-- Returns how many runs are before it, or {"DELAYED"}, {"KNOWN", status}, {"REJECTED", reason},
-- {"FORGOTTEN"}.
local function submit(keys, args)
  local prefix, thread, run = args[1], args[2], args[3]
  local fields = line_of(args, 4)
  if is_forgotten(prefix, run, fields.entry) then
    return { 'FORGOTTEN' }
  end
  local record = redis.call('HMGET', run_key(prefix, run), 'status', 'rejected')
  if record[2] then
    return { 'REJECTED', record[2] }
  end
  if record[1] then
    return { 'KNOWN', record[1] }
  end
  local at, now = tonumber(fields.at or nil), now_ms()
  if at and at > now then
    record_run(prefix, thread, run, 'delayed',
      { kind = 'delayed', start = at, agent = fields.agent }, now, args, 4)
    note_ttl(keys[1], prefix, thread, args, 4, now)
    redis.call('ZADD', prefix .. 'later', at, run)
    return { 'DELAYED' }
  end
  local reason = busy_reason(keys[1], thread, fields.multitask)
  if reason then
    record_run(prefix, thread, run, 'queued', nil, now, args, 4)
    reject(prefix, run, reason)
    return { 'REJECTED', reason }
  end
  record_run(prefix, thread, run, 'queued', { kind = 'queued', agent = fields.agent }, now, args, 4)
  return take_place(keys[1], prefix, thread, run, fields, now)
end

-- Queues the delayed runs of the shard that are due, at most limit.
local function queue_delayed(prefix, limit, now)
  local key = prefix .. 'later'
  for _, run in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, limit)) do
    local record = line_of(redis.call('HGETALL', run_key(prefix, run)), 1)
    local thread = record.thread
    redis.call('ZREM', key, run)
    if record.status == 'delayed' and thread then
      local thread_key = prefix .. 't:' .. thread
      local reason = busy_reason(thread_key, thread, record.multitask)
      redis.call('HSET', run_key(prefix, run), 'status', 'queued')
      if reason then
        reject(prefix, run, reason)
      else
        take_place(thread_key, prefix, thread, run, record, now)
        log_event(prefix, run, { kind = 'queued', thread = thread, agent = record.agent })
      end
    end
  end
end

-- Takes the next run that waits for the thread; one whose record is gone was deleted by hand. Returns
-- it and its record, as HGETALL answers, or nil.
local function pop_waiting(thread_key, prefix)
  while true do
    local run = redis.call('LPOP', thread_key .. ':q')
    local record = run and redis.call('HGETALL', run_key(prefix, run))
    if not run or field_of(record, 'status') == 'queued' then
      return run, record
    end
  end
end

-- Ends a run that took too many owners down, and keeps it among the dead letters.
local function quarantine(thread_key, prefix, thread, run, attempts, epoch)
  local now = now_ms()
  local reason = 'the run took ' .. attempts .. ' coordinators down without making progress'
  redis.call('HSET', run_key(prefix, run), 'dead', cmsgpack.pack(reason), 'events',
    last_event(prefix, run))
  redis.call('ZADD', prefix .. 'dead', now, run)
  end_run(prefix, run, 'error', 'Quarantined', reason)
  local head = redis.call('HMGET', thread_key, 'head', 'asked')
  redis.call('HSET', thread_key, 'run', '', 'owner', '', 'epoch', epoch)
  note_wait(thread_key, prefix, thread, head[1], head[2] or now, head[2])
  leave_thread(thread_key, prefix, thread, now)
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

-- Sets name in flat, {name, value, ...}.
local function set_field(flat, name, value)
  for i = 1, #flat, 2 do
    if flat[i] == name then
      flat[i + 1] = value
      return
    end
  end
  flat[#flat + 1] = name
  flat[#flat + 1] = value
end

-- Whether the next commit of who claims run has to look at what is rarely there, "1" or "": the run is
-- to be cancelled, it begins at a version of before, its attempts are to count from 1 again.
local function must_look(head, run, attempts)
  return (attempts ~= '1' or head.rolled or head.cancelling == run) and '1' or ''
end

-- claim(thread key; prefix, thread, owner, lease_ms, floor, name[, epoch, version])
-- Takes the thread's active run when its owner's lease is gone, or when the owner is the one who
-- asks (the answer to its first claim was lost), else the first waiting one.
-- Raises the epoch: whoever owned the thread before is fenced. name is the owner's, for people. epoch
-- and version: of what owner has kept of the messages. If they are the thread's, and owner is who left
-- it, no other can have written any since: they are answered with nil.
-- Returns {"OK", run, epoch, version, recovered, thread hash, run hash (both as they were), fields,
-- messages, pending writes (fields and those nil where there are none), ms until its deadline or -1}, or {"BUSY"}, {"NONE"}, {"QUARANTINED", run}.
local function claim(keys, args)
  local thread_key, prefix, thread, owner = keys[1], args[1], args[2], args[3]
  local flat_head = redis.call('HGETALL', thread_key)
  local head = line_of(flat_head, 1)
  local now, micros = clock()
  local lease = now + tonumber(args[4])
  local run = head.run
  local number = next_epoch(head.epoch, args[5], micros)
  if number > EPOCH_MAX then
    return redis.error_reply('ERR the clock of this Redis stands beyond the year 2255')
  end
  local epoch = text(number)
  local recovered, flat_record = 1, nil
  if run and run ~= '' then
    local holder = head.owner
    if holder ~= owner and lease_alive(prefix, holder, now) then
      return { 'BUSY' }
    end
    flat_record = redis.call('HGETALL', run_key(prefix, run))
    -- Commits do not count the events in the record.
    set_field(flat_record, 'events', last_event(prefix, run))
    local attempts = tonumber(field_of(flat_record, 'attempts') or 0)
    if attempts >= QUARANTINE_AFTER then
      quarantine(thread_key, prefix, thread, run, attempts, epoch)
      return { 'QUARANTINED', run }
    end
  else
    run, flat_record = pop_waiting(thread_key, prefix)
    recovered = 0
    if not run then
      redis.call('ZREM', prefix .. 'due', thread)
      return { 'NONE' }
    end
  end
  local key, record = run_key(prefix, run), line_of(flat_record, 1)
  local left = take_deadline(key, record, now)
  local version = number_of(head.version or '0')
  local attempts = text(number_of(record.attempts or '0') + 1)
  redis.call('HSET', thread_key, 'run', run, 'owner', owner, 'epoch', epoch, 'attempts', attempts,
    'look', must_look(head, run, attempts))
  -- base: the version that a rollback of the run leads to.
  redis.call('HSET', key, 'status', 'running', 'owner', owner, 'coordinator', args[6],
    'base', record.base or head.rollback or text(version), 'attempts', attempts,
    'events', record.events or '0', 'started', record.started or text(now))
  make_lease(prefix, owner, now, tonumber(args[4]))
  redis.call('ZADD', prefix .. 'due', text(lease), thread)
  if head.asked then
    redis.call('ZREM', prefix .. 'asks', thread)
  end
  local fields, messages, results = false, {}, false
  if version > 0 then
    fields = redis.call('HGETALL', thread_key .. ':f')
    messages = not has_kept(head, owner, args[7], args[8]) and
      redis.call('LRANGE', thread_key .. ':m', 0, -1)
  end
  if recovered == 1 then
    results = redis.call('HGETALL', key .. ':w')
    redis.call('HDEL', key, 'sent') -- the next one cannot be sure of what this one sends
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

-- A commit that does not build on the version that the thread has (head), or is not by its owner.
local function not_next(thread_key, args, head, is_owner)
  local last = redis.call('HMGET', thread_key, 'last_commit', 'cancelling')
  -- Done before, and its answer was lost. An end left the thread to others; but who was to go on
  -- and has lost the run meanwhile must not.
  if last[1] == args[5] and (is_owner or args[10] ~= 'running') then
    -- Written again, so that a WAIT behind it waits for the first time's replicas.
    redis.call('HSET', thread_key, 'last_commit', args[5])
    return { 'OK', tonumber(head[4]), last[2] == args[6] and 1 or 0,
      redis.call('LLEN', thread_key .. ':q') }
  end
  if not is_owner then
    return { 'FENCED' }
  end
  return { 'STALE', tonumber(head[4] or 0) }
end

-- What a commit looks at only when the thread's `look` says so (must_look, want_cancelled). Returns
-- whether somebody wants the run cancelled.
local function look(thread_key, key, run, is_end)
  local rare = redis.call('HMGET', thread_key, 'cancelling', 'rolled', 'attempts')
  if rare[2] and rare[2] ~= run then
    redis.call('HDEL', thread_key, 'rollback', 'rolled') -- run began there
  end
  if rare[3] ~= '1' and not is_end then
    redis.call('HSET', thread_key, 'attempts', '1')
    redis.call('HSET', key, 'attempts', '1')
  end
  if rare[1] == run then
    return true
  end
  redis.call('HSET', thread_key, 'look', '')
  return false
end

-- What becomes of a thread, and of the record of a run, that ends by a commit. events: the number of its
-- last one, or nil; args from index first on: more fields of its record. Returns how many runs wait.
local function end_by_commit(thread_key, args, events, first)
  local prefix, run, status, now = args[1], args[6], args[10], now_ms()
  local key, thread = run_key(prefix, run), string.sub(thread_key, #prefix + 3)
  local head = redis.call('HMGET', thread_key, 'ttl', 'asked')
  local record = redis.call('HMGET', key, 'cancelling', 'children', 'webhook')
  redis.call('HSET', key, 'status', status, 'ended', text(now), 'events',
    events or last_event(prefix, run), unpack(args, first))
  redis.call('DEL', key .. ':w')
  if record[1] then
    redis.call('SREM', prefix .. 'cancels', run)
    redis.call('HDEL', thread_key, 'cancelling')
  end
  if field_of(args, 'dead', first) then
    redis.call('ZADD', prefix .. 'dead', now, run)
  end
  leave_children(prefix, run, status, record[2])
  note_end(prefix, run, record[3], now)
  note_wait(thread_key, prefix, thread, args[7], status ~= 'interrupted' and head[2] or now, head[2])
  if head[1] then
    keep_until(prefix, thread, head[1], now)
  end
  return leave_thread(thread_key, prefix, thread, now)
end

-- commit(thread key; prefix, owner, epoch, version, commit id, run, head, order, checkpoint, status,
--        drop calls, counts, messages..., fields..., events..., run fields...)
-- counts: how many messages there are, fields and events, "1 0 1". A field is its name and value, an event
-- its id in the run's log and itself. status is "running", or how the run ended; drop is "1" when the
-- superstep's stored results are used up. Run fields are of a run that ends, but for `input`; with a field `dead`, the
-- reason, it is kept among the dead letters.
-- Returns 1 (done, and nothing else is to be said: the version is one more), or {"OK", version, cancel
-- wanted, runs waiting (once the run has ended)}, {"FENCED"} (another owner), or {"STALE", version}.
local function commit(keys, args)
  local thread_key, run, is_end = keys[1], args[6], args[10] ~= 'running'
  local head = redis.call('HMGET', thread_key, 'owner', 'epoch', 'run', 'version', 'look')
  local is_owner = owns(head, args[2], args[3], run)
  local is_next = (head[4] or '0') == args[4]
  if not is_owner or not is_next then
    return not_next(thread_key, args, head, is_owner)
  end
  local key = run_key(args[1], run)
  local version = number_of(args[4]) + 1
  local counts = counts_of(args[12])
  local messages_end = 12 + counts[1]
  local fields_end = messages_end + 2 * counts[2]
  local events_end = fields_end + 2 * counts[3]
  local events = write_events(key, args, fields_end + 1, events_end)
  call_with('RPUSH', thread_key .. ':m', args, 13, messages_end)
  if counts[2] > 0 then
    write_fields(thread_key, args, messages_end + 1, fields_end)
  end
  redis.call('RPUSH', thread_key .. ':c', args[9])
  local is_wanted_ended = head[5] == '1' and look(thread_key, key, run, is_end)
  if is_end then
    redis.call('HSET', thread_key, 'run', '', 'owner', '', 'left', args[2], 'version', text(version),
      'last_commit', args[5], 'head', args[7], 'order', args[8])
    local waiting = end_by_commit(thread_key, args, events, events_end + 1)
    return waiting > 0 and { 'OK', version, 0, waiting } or 1
  end
  redis.call('HSET', thread_key, 'version', text(version), 'last_commit', args[5], 'head', args[7],
    'order', args[8])
  if args[11] == '1' then
    redis.call('DEL', key .. ':w')
  end
  if #args > events_end then
    call_with('HSET', key, args, events_end + 1, #args)
  end
  return is_wanted_ended and { 'OK', version, 1, 0 } or 1
end

-- result(thread key; prefix, owner, epoch, run, version, call id, bytes, ...pairs)
-- Stores outcomes of calls before the superstep is complete: progress, like a commit. version: the
-- thread's, as its owner believes; "" asks for owner and epoch alone.
-- Returns {"OK"}, {"FENCED"}, or {"STALE", version}: the next commit would be, and drop them.
local function result(keys, args)
  local head = redis.call('HMGET', keys[1], 'owner', 'epoch', 'run', 'version', 'attempts')
  if not owns(head, args[2], args[3], args[4]) then
    return { 'FENCED' }
  end
  if args[5] ~= '' and (head[4] or '0') ~= args[5] then
    return { 'STALE', tonumber(head[4] or 0) }
  end
  if #args > 5 then
    local key = run_key(args[1], args[4])
    call_with('HSET', key .. ':w', args, 6, #args)
    if head[5] ~= '1' then
      redis.call('HSET', keys[1], 'attempts', '1')
      redis.call('HSET', key, 'attempts', '1')
    end
  end
  return { 'OK' }
end

-- release(thread key; prefix, thread, owner, epoch, sent, version): gives a run back unfinished
-- (drain); costs no attempt. sent: the packed ids of the calls that were sent in the superstep behind
-- version; "" when that is not sure, as it is not when Redis has forgotten that version.
local function release(keys, args)
  local head = redis.call('HMGET', keys[1], 'owner', 'epoch', 'run', 'version')
  if not head[3] or head[3] == '' or not owns(head, args[3], args[4], head[3]) then
    return { 'FENCED' }
  end
  local key = run_key(args[1], head[3])
  redis.call('HSET', keys[1], 'owner', '')
  redis.call('HINCRBY', key, 'attempts', -1)
  -- For a library before this one, which counts in `seq`, and else in the record.
  redis.call('HDEL', keys[1], 'seq')
  redis.call('HSET', key, 'events', last_event(args[1], head[3]))
  if args[5] ~= '' and (head[4] or '0') == (args[6] or head[4] or '0') then
    redis.call('HSET', key, 'sent', args[5])
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
    make_lease(args[1], args[2], now, tonumber(args[3]))
  end
  return answer
end

-- The leases of the shard that are alive, {owner: until}; the others are dropped.
local function live_leases(prefix, now)
  local leases = {}
  local flat = redis.call('HGETALL', prefix .. 'leases')
  for i = 1, #flat, 2 do
    leases[flat[i]] = lease_end(flat[i + 1], now)
    if not leases[flat[i]] then
      redis.call('HDEL', prefix .. 'leases', flat[i])
    end
  end
  return leases
end

-- sweep(due key; prefix, owner, limit): queues delayed runs that are due, and returns the threads
-- of the shard that owner should claim now: those whose owner's lease is gone, those it owns (it passes over what it really holds, so that
-- nothing it has lost sight of stays unfound), then, if there is room, waiting ones.
local function sweep(keys, args)
  local prefix, owner, limit, now = args[1], args[2], tonumber(args[3]), now_ms()
  local leases = live_leases(prefix, now)
  local found, kept, rounds = {}, 0, 0
  queue_delayed(prefix, limit, now)
  local function look_at(due)
    for _, thread in ipairs(due) do
      local thread_key = prefix .. 't:' .. thread
      local head = redis.pcall('HMGET', thread_key, 'run', 'owner')
      if head.err then
        redis.call('ZREM', keys[1], thread) -- no thread of ours; the others go on
      elseif not head[1] or head[1] == '' then
        leave_thread(thread_key, prefix, thread, now)
      elseif leases[head[2]] then
        redis.call('ZADD', keys[1], leases[head[2]], thread)
        if head[2] == owner then
          found[#found + 1] = thread
        end
      else
        found[#found + 1] = thread
        kept = kept + 1
      end
    end
  end
  look_at(redis.call('ZRANGEBYSCORE', keys[1], now + CLOCK_SET_BACK, '(' .. WAITING, 'LIMIT', 0,
    limit))
  kept = 0
  repeat
    -- A thread in good hands is looked at again when its lease ends; the others keep their places.
    local due = redis.call('ZRANGEBYSCORE', keys[1], '-inf', now, 'LIMIT', kept, limit)
    look_at(due)
    rounds = rounds + 1
  until #due < limit or #found >= limit or rounds == SWEEP_ROUNDS
  if #found < limit then
    for _, thread in ipairs(redis.call('ZRANGEBYSCORE', keys[1], WAITING, '+inf', 'LIMIT', 0,
      limit - #found)) do
      found[#found + 1] = thread
    end
  end
  return found
end

-- cancel(thread key; prefix, thread, run)
-- Returns {"CANCELLED"} when it waited, {"CANCELLING"} when its owner must act, {"ENDED", status},
-- {"UNKNOWN"}.
local function cancel(keys, args)
  local thread_key, prefix, thread, run = keys[1], args[1], args[2], args[3]
  local status = redis.call('HGET', run_key(prefix, run), 'status')
  if not status then
    return { 'UNKNOWN' }
  end
  if status == 'queued' or status == 'delayed' then
    redis.call('LREM', thread_key .. ':q', 0, run)
    redis.call('ZREM', prefix .. 'later', run)
    end_run(prefix, run, 'cancelled', 'CancelledError', 'cancelled before it started')
    if (redis.call('HGET', thread_key, 'run') or '') == '' then
      leave_thread(thread_key, prefix, thread, now_ms())
    end
    return { 'CANCELLED' }
  end
  if status ~= 'running' then
    return { 'ENDED', status }
  end
  want_cancelled(thread_key, prefix, run)
  return { 'CANCELLING' }
end

-- adopt(parent's thread key; prefix, parent, child, child's thread): the parent's end by error or
-- cancel is the child's, too. Returns {"OK"}, {"LATE"} (the child is to be cancelled: the parent
-- has ended so, or is about to), {"UNKNOWN"}.
local function adopt(_, args)
  local key = run_key(args[1], args[2])
  local parent = redis.call('HMGET', key, 'status', 'cancelling')
  if not parent[1] then
    return { 'UNKNOWN' }
  end
  redis.call('HSET', key .. ':k', args[3], args[4])
  redis.call('HSET', key, 'children', 1)
  if parent[2] or (parent[1] ~= 'queued' and parent[1] ~= 'delayed' and
      parent[1] ~= 'running' and parent[1] ~= 'success' and parent[1] ~= 'interrupted') then
    return { 'LATE' }
  end
  return { 'OK' }
end

-- orphans(due key; prefix, limit, done...): takes done out of the shard's runs whose children are to
-- be cancelled, and returns some of those that are left, whichever: one that cannot be done stands
-- in nobody's way.
local function orphans(_, args)
  local key, limit = args[1] .. 'bereft', tonumber(args[2])
  call_with('SREM', key, args, 3, #args)
  return limit > 0 and redis.call('SRANDMEMBER', key, limit) or {}
end

-- refuse(thread key; prefix, thread, run, type, reason, field, value, ...)
-- Keeps a submission that cannot run, with its reason, under its run id.
-- Returns {"REFUSED"}, {"KNOWN", status} or {"FORGOTTEN"}.
local function refuse(keys, args)
  local prefix, run = args[1], args[3]
  if is_forgotten(prefix, run, field_of(args, 'entry', 6)) then
    return { 'FORGOTTEN' }
  end
  local key = run_key(prefix, run)
  local status = redis.call('HGET', key, 'status')
  if status then
    return { 'KNOWN', status }
  end
  redis.call('HSET', key, 'status', 'refused', 'thread', args[2], 'created', now_ms())
  call_with('HSET', key, args, 6, #args)
  redis.call('ZADD', prefix .. 'runs', now_ms(), run)
  redis.call('RPUSH', prefix .. 't:' .. args[2] .. ':r', run)
  note_ttl(keys[1], prefix, args[2], args, 6, now_ms())
  end_run(prefix, run, 'refused', args[4], args[5])
  return { 'REFUSED' }
end

-- retry(thread key; prefix, thread, run, new run, version): queues what a dead letter was to do as
-- a new run, with that version of its agent; the old one leaves the index and names the new one.
-- Returns {"QUEUED", runs before it}, {"KNOWN", status} (the new id is taken), {"NOT_DEAD", status,
-- the run that took its place or ""}, or {"UNKNOWN"}.
local function retry(keys, args)
  local prefix, thread, run, new_run = args[1], args[2], args[3], args[4]
  local key = run_key(prefix, run)
  local record = redis.call('HMGET', key, 'status', 'retried', unpack(KEPT_BY_RETRY))
  if not record[1] then
    return { 'UNKNOWN' }
  end
  if not redis.call('ZSCORE', prefix .. 'dead', run) then
    return { 'NOT_DEAD', record[1], record[2] or '' }
  end
  local status = redis.call('HGET', run_key(prefix, new_run), 'status')
  if status then
    return { 'KNOWN', status }
  end
  local fields = { 'version', args[5], 'retry_of', run }
  for i, name in ipairs(KEPT_BY_RETRY) do
    if record[i + 2] then
      fields[#fields + 1] = name
      fields[#fields + 1] = record[i + 2]
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

-- At maxmemory Redis refuses every function but those that must go on: leases, and what frees.
local function register(name, callback, goes_on)
  redis.register_function{ function_name = name, callback = callback,
    flags = goes_on and { 'allow-oom' } or {} }
end

register('fl_submit', submit)
register('fl_claim', claim)
register('fl_commit', commit)
register('fl_result', result)
register('fl_release', release, true)
register('fl_renew', renew, true)
register('fl_sweep', sweep, true)
register('fl_cancel', cancel, true)
register('fl_adopt', adopt)
register('fl_orphans', orphans, true)
register('fl_refuse', refuse)
register('fl_retry', retry)
register('fl_discard', discard, true)
register('fl_tidy', tidy, true)
