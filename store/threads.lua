
-- Threads as a whole: copied, pruned, deleted, expired (store/store_keep.c says how these steps
-- follow each other).

local MESSAGES_MAX = 1000 -- that are dropped in one call
local FORGOTTEN_MAX = 1000 -- runs; behind so many the call ends
local LATER_MS = 60000
local NO_RUN = '?' -- no run's id
local AGAIN_MS = 1200000 -- a call's time, unless it is said, and as long as its outcome is kept (CALL_DEADLINE_MS, RESULT_KEEP_MS)

-- fill(thread key; prefix, owner, epoch, run, list, at, version, item, ...)
-- Fills the list ":m" or ":c" of a thread that nobody has used, from place at on; the same again
-- is done once. version, when it is not "": the thread's, now that all is there.
-- Returns {"OK"}, {"FENCED"}, {"USED"}, or {"STALE"}: begin again at 0.
local function fill(keys, args)
  local head = redis.call('HMGET', keys[1], 'owner', 'epoch', 'run', 'head')
  local is_owner = owns(head, args[2], args[3], args[4])
  if not is_owner then
    return fenced(keys[1], args[1], args[3], args[4])
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

-- The first of list that is a member of key; verb asks for many at once.
local function first_in(verb, key, list)
  for from = 1, #list, ARGUMENTS_MAX do
    local last = math.min(from + ARGUMENTS_MAX - 1, #list)
    for i, answer in ipairs(redis.call(verb, key, unpack(list, from, last))) do
      if answer and answer ~= 0 then
        return list[from + i - 1]
      end
    end
  end
end

-- The first of runs that is one of thread. What is damaged is none.
local function first_of(prefix, thread, runs)
  for _, run in ipairs(runs) do
    if redis.pcall('HGET', run_key(prefix, run), 'thread') == thread then
      return run
    end
  end
end

-- The run that a thread is not free because of: that goes on, waits, is to start later, whose end is
-- still to be told (webhooks.lua), or whose children are still to be cancelled; or nil. Of the shard's that are there and of the
-- thread's runs those are looked at that are fewer.
local function claimed_by(thread_key, prefix, thread)
  local run = busy_with(thread_key)
  if run then
    return run
  end
  local later, hooks, bereft = prefix .. 'later', prefix .. 'hooks', prefix .. 'bereft'
  if redis.call('EXISTS', later, hooks, bereft) == 0 then
    return nil
  end
  local list = thread_key .. ':r'
  if redis.call('ZCARD', later) + redis.call('ZCARD', hooks) + redis.call('SCARD', bereft) <
    redis.call('LLEN', list) then
    return first_of(prefix, thread, redis.call('ZRANGEBYSCORE', later, '-inf', '+inf')) or
      first_of(prefix, thread, redis.call('ZRANGEBYSCORE', hooks, '-inf', '+inf')) or
      first_of(prefix, thread, redis.call('SMEMBERS', bereft))
  end
  local runs = redis.call('LRANGE', list, 0, -1)
  return first_in('ZMSCORE', later, runs) or first_in('ZMSCORE', hooks, runs) or
    first_in('SMISMEMBER', bereft, runs)
end

-- Where a thread stands, or does when it is put back: what its head says, or nil, and whether that can be read.
local function standing(thread_key)
  local found = redis.call('HMGET', thread_key, 'head', 'rollback', 'version')
  local head = found[1]
  if head and found[2] then
    head = head_put_back(thread_key, found[2], found[3])
  end
  if not head then
    return nil, true
  end
  local is_read, state = pcall(cmsgpack.unpack, head)
  return state, is_read and type(state) == 'table'
end

-- Whether a thread waits for an answer, or does where it is put back to. What cannot be read might.
local function waits(thread_key)
  local state, is_sound = standing(thread_key)
  return not is_sound or (state ~= nil and state.status == 'interrupted')
end

-- Whether who goes on there needs the threads of children: one asks, or was at work when its parent failed
-- (coordinator/run_failed.c).
local function needs_children(thread_key)
  local state, is_sound = standing(thread_key)
  if not is_sound or not state then
    return not is_sound
  end
  if state.status == 'interrupted' then
    return true
  end
  for _, call in pairs(type(state.round) == 'table' and state.round or {}) do
    if type(call) == 'table' and call.held then
      return true
    end
  end
  return false
end

-- Why a thread may not be cut, as an answer; or nil.
local function refusal(thread_key, prefix, force)
  local run = claimed_by(thread_key, prefix, string.sub(thread_key, #prefix + 3))
  if run then
    return { 'BUSY', run }
  end
  return force ~= '1' and waits(thread_key) and { 'WAITS' } or nil
end

-- The children that a hash has are deleted, too (chores.lua), and it is.
local function forget_children(prefix, key)
  local children = redis.call('HGETALL', key)
  for i = 1, #children, 2 do
    redis.call('HSET', prefix .. 'forgotten', '>' .. children[i], children[i + 1])
  end
  redis.call('DEL', key)
end

-- What a run has left. Its place in `forgotten` has what lies elsewhere deleted, too (chores.lua), and so have
-- its children's, if takes_children: else its thread keeps them until that needs none. Brokers and workers may know its calls: for so long it is noted how many runs of its id there
-- were, so that those of the next one are others, and the last entry that one came by, so that none before it begins one (known).
local function forget_run(prefix, run, takes_children)
  local key = run_key(prefix, run)
  local record = redis.call('HMGET', key, 'entry', 'thread', 'children', 'again', 'started',
    'last_entry')
  local entry = record[6] or record[1]
  if entry or record[4] or record[5] then
    local count = (tonumber(record[4] or nil) or 0) + (record[5] and 1 or 0)
    redis.call('SET', again_key(run), text(count) .. (entry and ' ' .. entry or ''), 'PX', AGAIN_MS)
  end
  redis.call('HSET', prefix .. 'forgotten', run, (record[1] or '-') .. ' ' .. (record[2] or ''))
  local children = record[3] and record[2] and not takes_children and redis.call('HGETALL', key .. ':k') or {}
  if #children > 0 then
    call_with('HSET', prefix .. 't:' .. record[2] .. ':k', children, 1, #children)
  elseif record[3] then
    forget_children(prefix, key .. ':k')
  end
  redis.call('DEL', key, key .. ':e', key .. ':w', key .. ':k')
  redis.call('ZREM', prefix .. 'runs', run)
  redis.call('ZREM', prefix .. 'dead', run)
end

-- Forgets a thread's oldest runs, at most FORGOTTEN_MAX, and with the last one the thread. Returns how many,
-- and whether there are more.
local function forget_thread(thread_key, prefix, thread)
  local runs = redis.call('LRANGE', thread_key .. ':r', 0, FORGOTTEN_MAX - 1)
  for _, run in ipairs(runs) do
    if run ~= '' then
      forget_run(prefix, run, true)
    end
  end
  if redis.call('LLEN', thread_key .. ':r') > #runs then
    redis.call('LTRIM', thread_key .. ':r', #runs, -1)
    return #runs, true
  end
  forget_children(prefix, thread_key .. ':k')
  redis.call('DEL', thread_key, thread_key .. ':m', thread_key .. ':f', thread_key .. ':c',
    thread_key .. ':q', thread_key .. ':r')
  redis.call('ZREM', prefix .. 'due', thread)
  redis.call('ZREM', prefix .. 'ttl', thread)
  redis.call('ZREM', prefix .. 'asks', thread)
  unlist_thread(prefix, thread)
  return #runs, false
end

-- erase(thread key; prefix, thread, force): deletes a thread with all its runs. force "1": one that
-- waits for an answer as well.
-- Returns {"ERASED", runs}, {"MORE", runs} (the oldest are gone: ask again), {"BUSY", run}, {"WAITS"},
-- {"UNKNOWN"}.
local function erase(keys, args)
  if redis.call('HEXISTS', keys[1], 'created') == 0 and redis.call('LLEN', keys[1] .. ':r') == 0 then
    return { 'UNKNOWN' }
  end
  local refused = refusal(keys[1], args[1], args[3])
  if refused then
    return refused
  end
  local runs, is_more = forget_thread(keys[1], args[1], args[2])
  return { is_more and 'MORE' or 'ERASED', runs }
end

-- Deletes what ended before since, but the runs that are kept ({run: true}) and dead letters: the oldest,
-- FORGOTTEN_MAX at most. Returns how many. What the thread needs may be a child of one of them. Behind the first that was
-- submitted later than that none has ended before.
local function forget_ended(thread_key, prefix, since, kept)
  local list, left, seen, forgotten = thread_key .. ':r', {}, 0, 0
  local takes_children = not needs_children(thread_key)
  local is_last = false
  if takes_children then
    forget_children(prefix, thread_key .. ':k')
  end
  while forgotten < FORGOTTEN_MAX and not is_last do
    local runs = redis.call('LRANGE', list, seen, seen + FORGOTTEN_MAX - forgotten - 1)
    is_last = #runs == 0
    for _, run in ipairs(runs) do
      local record = redis.call('HMGET', run_key(prefix, run), 'ended', 'created')
      local ended, created = tonumber(record[1] or nil), tonumber(record[2] or nil)
      is_last = created and created > since
      if is_last then
        break
      end
      seen = seen + 1
      if run == '' then -- it was deleted alone
        forgotten = forgotten + 1
      elseif kept[run] or not ended or ended > since or redis.call('ZSCORE', prefix .. 'dead', run) then
        left[#left + 1] = run
      else
        forget_run(prefix, run, takes_children)
        forgotten = forgotten + 1
      end
    end
  end
  for i, run in ipairs(left) do
    redis.call('LSET', list, forgotten + i - 1, run)
  end
  if forgotten > 0 then
    redis.call('LTRIM', list, forgotten, -1)
    redis.call('HINCRBY', thread_key, 'cut', forgotten)
  end
  return forgotten
end

-- Where item stands in list, the last time, from 0; or nil.
local function place_of(list, item)
  for last = redis.call('LLEN', list) - 1, 0, -FORGOTTEN_MAX do
    local first = math.max(0, last - FORGOTTEN_MAX + 1)
    local items = redis.call('LRANGE', list, first, last)
    for i = #items, 1, -1 do
      if items[i] == item then
        return first + i - 1
      end
    end
  end
end

-- Why a run may not be deleted alone, as an answer, or nil: it has not ended, or is still to be taken out of those that wait;
-- its end is still to be told, or its children to be cancelled; a call of another run has asked for it, and may look at it.
local function not_forgotten(thread_key, prefix, thread, run)
  local record = redis.call('HMGET', run_key(prefix, run), 'status', 'thread', 'task')
  local status = record[1]
  if not status or record[2] ~= thread then
    return { 'UNKNOWN' }
  end
  if status == 'queued' or status == 'delayed' or status == 'running' or
    redis.call('HGET', thread_key, 'run') == run or place_of(thread_key .. ':q', run) then
    return { 'BUSY' }
  end
  if redis.call('ZSCORE', prefix .. 'hooks', run) or
    redis.call('SMISMEMBER', prefix .. 'bereft', run)[1] == 1 then
    return { 'TELLS' }
  end
  return record[3] and { 'CHILD' } or nil
end

-- forget(thread key; prefix, thread, run): deletes a run that has ended, and nothing of its thread's state or history. Its place
-- in the thread's list stays, empty: who watches the thread counts by it. One that was deleted is not there to be a child's
-- parent: what the thread needs may be a child of it.
-- Returns {"FORGOTTEN"}, {"BUSY"}, {"TELLS"}, {"CHILD"}, {"UNKNOWN"}.
local function forget(keys, args)
  local refused = not_forgotten(keys[1], args[1], args[2], args[3])
  if refused then
    return refused
  end
  local at = place_of(keys[1] .. ':r', args[3])
  if redis.call('HGET', keys[1], 'rolled') == args[3] then
    redis.call('HSET', keys[1], 'rolled', NO_RUN) -- the next one may have its id
  end
  local takes_children = not needs_children(keys[1])
  if takes_children then
    forget_children(args[1], keys[1] .. ':k')
  end
  forget_run(args[1], args[3], takes_children)
  if at and redis.call('HEXISTS', keys[1], 'created') == 1 then
    redis.call('LSET', keys[1] .. ':r', at, '')
    redis.call('HINCRBY', keys[1], 'holes', 1)
  else -- only refused ones were there: it is no thread yet
    redis.call('LREM', keys[1] .. ':r', 0, args[3])
  end
  return { 'FORGOTTEN' }
end

-- Why a thread is not to be pruned, as an answer, or nil. stamp: the caller's, "version created";
-- one of that version may be another of the same name by now.
local function not_pruned(thread_key, prefix, stamp, force)
  local head = redis.call('HMGET', thread_key, 'version', 'head', 'rolled', 'created')
  if not head[1] then
    return { 'UNKNOWN' }
  end
  local refused = refusal(thread_key, prefix, force)
  if refused then
    return refused
  end
  if head[3] then -- the next run begins at a version that would go
    return { 'BUSY' }
  end
  return stamp ~= head[1] .. ' ' .. (head[4] or '') and { 'STALE' } or nil
end

-- Whether args from first to last are numbers of messages that the thread has.
local function has_messages(thread_key, args, first, last)
  local count = redis.call('LLEN', thread_key .. ':m')
  for i = first, last do
    local number = tonumber(args[i])
    if not number or number < 0 or number >= count then
      return false
    end
  end
  return true
end

-- Whether a thread has as many checkpoints as are to be dropped and to be left, or they are dropped already: the
-- answer was lost, or somebody else has asked for the same at once.
local function has_checkpoints(thread_key, drop, left, oldest)
  local count = redis.call('LLEN', thread_key .. ':c')
  return left > 0 and (count == drop + left or
    (count == left and redis.call('LINDEX', thread_key .. ':c', 0) == oldest))
end

local function drop_messages(thread_key, args, first, last)
  for i = first, last do
    redis.call('LSET', thread_key .. ':m', args[i], '')
  end
end

-- Nothing more is to be done in time with a thread that was pruned because its time was over (expire); whoever else prunes one
-- leaves that as it is, a deletion above all.
local function pruned_in_time(thread_key, prefix, thread)
  local action = string.match(redis.call('HGET', thread_key, 'ttl') or '', ' ([%a_]+)$')
  local at = redis.call('ZSCORE', prefix .. 'ttl', thread)
  if action == 'keep_latest' and at and tonumber(at) <= now_ms() + LATER_MS then
    redis.call('ZREM', prefix .. 'ttl', thread)
  end
end

-- prune(thread key; prefix, thread, stamp, force, checkpoints to drop, the oldest that is left, its
--       time, count of messages, number..., run of each checkpoint that is left...)
-- Drops the oldest checkpoints, the messages that only they name, and runs that ended before the
-- oldest that is left, which from now on has all of the fields. With MESSAGES_MAX messages there are
-- more: prune_rest follows, or the same again with none where FORGOTTEN_MAX runs went, and until then the
-- thread is found again when its time is over.
-- Returns {"PRUNED", runs}, {"STALE"}, {"BUSY", run}, {"BUSY"} (it is to be put back, by its next run), {"WAITS"}, {"UNKNOWN"}.
local function prune(keys, args)
  local refused = not_pruned(keys[1], args[1], args[3], args[4])
  if refused then
    return refused
  end
  local last = 8 + tonumber(args[8])
  local left = #args - last
  if not has_checkpoints(keys[1], tonumber(args[5]), left, args[6]) or
    not has_messages(keys[1], args, 9, last) then
    return { 'STALE' }
  end
  local kept = {}
  for i = last + 1, #args do
    kept[args[i]] = true
  end
  redis.call('LTRIM', keys[1] .. ':c', -left, -1)
  redis.call('LSET', keys[1] .. ':c', 0, args[6])
  drop_messages(keys[1], args, 9, last)
  local forgotten = forget_ended(keys[1], args[1], tonumber(args[7]), kept)
  if last - 8 < MESSAGES_MAX and forgotten < FORGOTTEN_MAX then
    pruned_in_time(keys[1], args[1], args[2])
  end
  return { 'PRUNED', forgotten }
end

-- prune_rest(thread key; prefix, thread, stamp, force, number...): the same for more messages; the
-- last ones are less than MESSAGES_MAX. Answers as prune, 0 runs.
local function prune_rest(keys, args)
  local refused = not_pruned(keys[1], args[1], args[3], args[4])
  if refused then
    return refused
  end
  if not has_messages(keys[1], args, 5, #args) then
    return { 'STALE' }
  end
  drop_messages(keys[1], args, 5, #args)
  if #args - 4 < MESSAGES_MAX then
    pruned_in_time(keys[1], args[1], args[2])
  end
  return { 'PRUNED', 0 }
end

-- What becomes of a thread whose time is over: "prune", or nil, and how many runs were deleted. usual: the ttl
-- of one that was opened without any.
local function end_of_time(prefix, thread, now, usual)
  local thread_key = prefix .. 't:' .. thread
  local head = redis.call('HMGET', thread_key, 'rolled', 'ttl', 'version', 'created')
  local ms, action = string.match(head[2] or '', '^(%d+) ([%a_]+)$')
  local goes = action == 'delete' or not head[3] -- nothing to keep: no run has ever begun there
  if not head[2] and head[4] and usual ~= '' then
    redis.call('HSET', thread_key, 'ttl', usual)
    keep_until(prefix, thread, usual, now)
  elseif not ms or ms == '0' then
    redis.call('ZREM', prefix .. 'ttl', thread)
  elseif refusal(thread_key, prefix, '0') or head[1] and not goes then
    redis.call('ZADD', prefix .. 'ttl', now + tonumber(ms), thread)
  elseif goes then
    return nil, (forget_thread(thread_key, prefix, thread))
  else
    redis.call('ZADD', prefix .. 'ttl', now + LATER_MS, thread)
    return 'prune', 0
  end
  return nil, 0
end

-- expire(due key; prefix, limit[, usual]): threads whose time is over: those to be deleted are (by several calls,
-- those with many runs), those to be pruned are returned, and found again in a minute. One that is not free, waits for an answer, or
-- is to be put back before it can be pruned, stays for its time once more; one that is damaged, for a minute, and the others
-- go on. One that was opened without a ttl gets the usual one.
local function expire(_, args)
  local prefix, now, found, forgotten = args[1], now_ms(), {}, 0
  local over = redis.call('ZRANGEBYSCORE', prefix .. 'ttl', '-inf', now, 'LIMIT', 0, args[2])
  for _, thread in ipairs(over) do
    local is_sound, action, runs = pcall(end_of_time, prefix, thread, now, args[3] or '')
    if not is_sound then
      redis.call('ZADD', prefix .. 'ttl', now + LATER_MS, thread)
    else
      found[#found + 1] = action == 'prune' and thread or nil
      forgotten = forgotten + runs
    end
    if forgotten >= FORGOTTEN_MAX then
      break
    end
  end
  return found
end

-- open(thread key; prefix, thread, metadata, ttl): makes a thread that nobody has used, with what is kept with it; ttl: "ms
-- action", or "": coordinators find it at once, and know the usual one. Returns {"OPENED"}, or {"KNOWN"}: it is there, and stays as it is.
local function open(keys, args)
  if redis.call('HEXISTS', keys[1], 'created') == 1 then
    return { 'KNOWN' }
  end
  local now = now_ms()
  redis.call('HSET', keys[1], 'created', text(now), 'metadata', args[3])
  if args[4] ~= '' then
    redis.call('HSET', keys[1], 'ttl', args[4])
    keep_until(args[1], args[2], args[4], now)
  else
    redis.call('ZADD', args[1] .. 'ttl', now, args[2])
  end
  list_thread(args[1], args[2], nil, now)
  return { 'OPENED' }
end

-- note(thread key; prefix, thread, metadata, metadata as it was, ttl): changes what is kept with a thread; "": it has none, or
-- a ttl stays. Returns {"NOTED"}, {"UNKNOWN"}, or {"STALE"}: it is not as it was.
local function note(keys, args)
  local head = redis.call('HMGET', keys[1], 'created', 'metadata')
  if not head[1] then
    return { 'UNKNOWN' }
  end
  if (head[2] or '') ~= args[4] then
    return { 'STALE' }
  end
  redis.call('HSET', keys[1], 'metadata', args[3])
  if args[5] ~= '' then
    redis.call('HSET', keys[1], 'ttl', args[5])
    keep_until(args[1], args[2], args[5], now_ms())
  end
  return { 'NOTED' }
end

register('fl_open', open)
register('fl_note', note)
register('fl_fill', fill)
register('fl_erase', erase, 'allow-oom')
register('fl_forget', forget, 'allow-oom')
register('fl_prune', prune, 'allow-oom')
register('fl_prune_rest', prune_rest, 'allow-oom')
register('fl_expire', expire, 'allow-oom')
