
-- What coordinators do about a whole shard: they keep their leases there, and look for what is to be
-- done.

local SWEEP_ROUNDS = 10
local HELD_LOOK = 500 -- ms until a thread is looked at again that is held without a lease, by whoever looks first
local SWEEP_AT_ONCE = 100 -- threads of a round, or as many as are wanted, if more

-- Queues a delayed run that is due. Fails where it, or what its thread needs, is damaged.
local function queue_due(prefix, run, now)
  local record = line_of(redis.call('HGETALL', run_key(prefix, run)), 1)
  local thread = record.thread
  if record.status == 'delayed' and thread then
    local thread_key = prefix .. 't:' .. thread
    check_types(thread_key)
    local reason = busy_reason(thread_key, thread, record.multitask)
    redis.call('HSET', run_key(prefix, run), 'status', 'queued')
    if reason then
      reject(prefix, run, reason)
    else
      take_place(thread_key, prefix, thread, run, record, now)
      log_event(prefix, run, { kind = 'queued', thread = thread, agent = record.agent })
    end
  end
  redis.call('ZREM', prefix .. 'later', run)
end

-- Queues the delayed runs of the shard that are due, at most limit. One that is damaged is looked at again later,
-- and the others go on.
local function queue_delayed(prefix, limit, now)
  local key = prefix .. 'later'
  for _, run in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, limit)) do
    if not pcall(queue_due, prefix, run, now) then
      redis.call('ZADD', key, now + DAMAGED_MS, run)
    end
  end
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
-- of the shard that owner should claim now: at most limit whose owner's lease is gone; those it owns (it passes over what
-- it really holds, so that nothing it has lost sight of stays unfound), however many: they take no room, and must hide no
-- other; then, if there is room, waiting ones.
local function sweep(keys, args)
  local prefix, owner, limit, now = args[1], args[2], tonumber(args[3]), now_ms()
  local leases = live_leases(prefix, now)
  local found, others, kept, rounds = {}, 0, 0, 0
  local some = math.max(limit, SWEEP_AT_ONCE)
  queue_delayed(prefix, limit, now)
  local function look_at(due)
    for _, thread in ipairs(due) do
      local thread_key = prefix .. 't:' .. thread
      local head = redis.pcall('HMGET', thread_key, 'run', 'owner', 'hold')
      if head.err then
        redis.call('ZREM', keys[1], thread) -- no thread of ours; the others go on
      elseif not head[1] or head[1] == '' then
        if not pcall(leave_thread, thread_key, prefix, thread, now) then
          redis.call('ZADD', keys[1], now + CLOCK_SET_BACK, thread) -- likewise
        end
      elseif leases[head[2]] then
        redis.call('ZADD', keys[1], leases[head[2]], thread)
        if head[2] == owner then
          found[#found + 1] = thread
        end
      elseif head[2] ~= owner and is_held(head[2], head[3], now) then
        redis.call('ZADD', keys[1], now + HELD_LOOK, thread) -- its hold may end before its time
      else
        kept = kept + 1
        if others < limit then
          others = others + 1
          found[#found + 1] = thread
        end
      end
    end
  end
  look_at(redis.call('ZRANGEBYSCORE', keys[1], now + CLOCK_SET_BACK, '(' .. WAITING, 'LIMIT', 0,
    some))
  kept = 0
  repeat
    -- A thread in good hands is looked at again when its lease ends; the others keep their places.
    local due = redis.call('ZRANGEBYSCORE', keys[1], '-inf', now, 'LIMIT', kept, some)
    look_at(due)
    rounds = rounds + 1
  until #due < some or others >= limit or rounds == SWEEP_ROUNDS
  if others < limit then
    for _, thread in ipairs(redis.call('ZRANGEBYSCORE', keys[1], WAITING, '+inf', 'LIMIT', 0,
      limit - others)) do
      found[#found + 1] = thread
    end
  end
  return found
end

-- orphans(due key; prefix, limit, done...): takes done out of the shard's runs whose children are to
-- be cancelled, and returns some of those that are left, whichever: one that cannot be done stands
-- in nobody's way.
local function orphans(_, args)
  local key, limit = args[1] .. 'bereft', tonumber(args[2])
  call_with('SREM', key, args, 3, #args)
  return limit > 0 and redis.call('SRANDMEMBER', key, limit) or {}
end

register('fl_renew', renew, 'allow-oom')
register('fl_sweep', sweep, 'allow-oom')
register('fl_orphans', orphans, 'allow-oom')
