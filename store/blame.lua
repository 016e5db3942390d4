
-- Which runs take their owners down: the claims of a run without progress between them are counted, and the one after
-- QUARANTINE_AFTER ends it. Each is taken for a death of its owner, but for those of who says that he rested or gave the run
-- back (fl_attempts, fl_release), and of who comes back when another has the run: he lives, and has lost it by time alone.
-- A turn of his took longer than his lease, or he was stopped, or cut off from Redis. A run that is so slow with one owner is
-- so with the next. So who takes over what was lost like that *holds* it from its claim on, with a lease or without one, each time
-- for twice as long: else it went round between owners who live, and none came to an end with it.

local QUARANTINE_AFTER = 5
local HOLD_DOUBLES = 4 -- times at most
-- So many leases, from its claim, the last one holds it before it is said that all were taken down: longer than a watchdog lets a
-- turn take (STUCK_MS of proto/bounds.h, and a tenth) that has its processor. Who lives is heard by then, as a rule.
local HOLD_LAST = 12

local TAKEN_BYTES_MAX = 200 -- some ten epochs

local function owns(head, owner, epoch, run)
  return head[1] == owner and head[2] == epoch and head[3] == run
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

-- Ends a run that took too many owners down, and keeps it among the dead letters.
local function quarantine(thread_key, prefix, thread, run, attempts, epoch)
  local now = now_ms()
  local reason = 'the run took ' .. attempts .. ' coordinators down without making progress'
  redis.call('HSET', run_key(prefix, run), 'dead', cmsgpack.pack(reason), 'events',
    last_event(prefix, run))
  redis.call('ZADD', prefix .. 'dead', now, run)
  end_run(prefix, run, 'error', 'Quarantined', reason)
  local found = redis.call('HMGET', thread_key, 'head', 'asked', 'rollback', 'version')
  local head, asked = found[1], found[2]
  redis.call('HSET', thread_key, 'run', '', 'owner', '', 'epoch', epoch, 'look', '')
  redis.call('HDEL', thread_key, 'cancelling')
  if not head then
    -- What a copy had filled so far: the next run's messages are numbered from 0 on.
    redis.call('DEL', thread_key .. ':m', thread_key .. ':c')
    redis.call('HDEL', thread_key, 'version')
  elseif found[3] then
    head = head_put_back(thread_key, found[3], found[4])
  end
  note_wait(thread_key, prefix, thread, head, asked or now, asked)
  leave_thread(thread_key, prefix, thread, now)
end

-- The answer to who is not the owner any more, or not with that epoch, of run: his claim was none, if it counted.
local function fenced(thread_key, prefix, epoch, run)
  local key = run_key(prefix, run)
  local record = redis.call('HGET', thread_key, 'run') == run and
    redis.pcall('HMGET', key, 'taken', 'lost', 'slow') or {}
  local taken = record[1] or ''
  local first, last = string.find(taken, ' ' .. (epoch or '?') .. ' ', 1, true)
  if first then
    redis.call('HSET', key, 'taken', string.sub(taken, 1, first) .. string.sub(taken, last + 1),
      'lost', text((number_of(record[2] or '0') or 0) + 1),
      'slow', text((number_of(record[3] or '0') or 0) + 1))
  end
  return { 'FENCED' }
end

-- Takes off what is counted of a run the claims that were lost by who lives, and adds to those that are taken from their
-- owners the last one, if it counts. head: of the thread, as who claims the run has found it; is_same: by the claim that was
-- sent before, and whose answer was lost. Who lost it may have rested before others died, and of those that are late it may be none: then
-- one too few counts. Of one that was lost by who lives one counts at least, so that progress is seen to forgive it. Returns how many do.
local function settle(flat_record, head, is_same)
  local record = line_of(flat_record, 1)
  local attempts = number_of(record.attempts or '0') or 0
  local lost = number_of(record.lost or '0') or 0
  if attempts >= (number_of(head.attempts or '0') or 0) then
    local taken = (record.taken or ' ') .. (head.epoch or '') .. ' '
    set_field(flat_record, 'taken', string.match(taken, ' .*$', -TAKEN_BYTES_MAX))
  end
  if lost > 0 then
    attempts = attempts - lost
    set_field(flat_record, 'late', text(math.max((number_of(record.late or '0') or 0) - lost, 0)))
  end
  attempts = math.max(is_same and attempts - 1 or attempts, record.slow and 1 or 0)
  set_field(flat_record, 'attempts', text(attempts))
  return attempts
end

-- Keeps what was settled, of the run that is claimed, for the attempts-th time. more gets the field `hold` of the thread, which
-- is as a lease is kept, if the run was lost by who lives, or may be said to have taken all down.
local function take_over(key, record, attempts, length, now, more)
  redis.call('HSET', key, 'taken', record.taken or ' ', 'late', record.late or '0')
  if record.lost then
    redis.call('HDEL', key, 'lost')
  end
  local leases = record.slow and 2 ^ math.min(number_of(record.slow) or 1, HOLD_DOUBLES) or 0
  if attempts >= QUARANTINE_AFTER then
    leases = math.max(leases, HOLD_LAST)
  end
  if leases == 0 then
    return
  end
  length = length * leases
  more[#more + 1] = 'hold'
  more[#more + 1] = string.format('%d %d', now + length, length)
end

-- Whether the thread's active run is held for its owner, with a lease or without one.
local function is_held(owner, hold, now)
  return owner and owner ~= '' and lease_end(hold, now) ~= nil
end

-- A hold ends where its owner rests, who has come to an end with it as far as he can, and begins anew when he goes on.
local function hold_on(thread_key, hold, rests)
  local length = tonumber(string.match(hold, ' (%d+)$') or nil) or 0
  redis.call('HSET', thread_key, 'hold', string.format('%d %d', rests and 0 or now_ms() + length, length))
end

-- The run has made progress: its claims before this one count no more.
local function forgive(thread_key, key)
  redis.call('HSET', thread_key, 'attempts', '1')
  redis.call('HDEL', thread_key, 'hold')
  redis.call('HSET', key, 'attempts', '1')
  redis.call('HDEL', key, 'late', 'taken', 'lost', 'slow')
end

-- attempts(thread key; prefix, owner, epoch, run, number[, late]): as many of the run's claims count, and as many of these
-- are late, by what its owner knows: it rests, or does not any more (coordinator/suspects.h). Where there has been progress since,
-- it stays as it is. The thread's own number stays: by it a release sees whether this claim counts. Returns {"OK"} or {"FENCED"}.
local function count_attempts(keys, args)
  local head = redis.call('HMGET', keys[1], 'owner', 'epoch', 'run', 'attempts', 'hold')
  local is_its_owner = owns(head, args[2], args[3], args[4])
  if not is_its_owner then
    return fenced(keys[1], args[1], args[3], args[4])
  end
  if head[4] ~= '1' then
    redis.call('HSET', run_key(args[1], args[4]), 'attempts', args[5], 'late', args[6] or '0')
    if head[5] then
      hold_on(keys[1], head[5], (tonumber(args[5]) or 0) < (tonumber(head[4] or nil) or 0))
    end
  end
  return { 'OK' }
end

register('fl_attempts', count_attempts, 'allow-oom')
