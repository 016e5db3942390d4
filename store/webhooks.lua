
-- Webhooks: who is told that a run has ended. `hooks` has the runs whose end is still to be told,
-- each with the time of the next attempt; note_end (line.lua) puts them in. KEYS[1] is `hooks`.

-- hooks_take(hooks; prefix, lease_ms, limit): the ends that are to be told now; nobody else gets
-- them for lease_ms. Returns {TIME in ms, run, number of the attempt, run, number, ...}.
local function hooks_take(keys, args)
  local now = now_ms()
  local taken, due = { now }, told_ahead(args[1], now, tonumber(args[3]))
  for _, run in ipairs(redis.call('ZRANGEBYSCORE', keys[1], '-inf', now, 'LIMIT', 0, args[3])) do
    due[#due + 1] = run
  end
  for _, run in ipairs(due) do
    local record = redis.pcall('HMGET', run_key(args[1], run), 'webhook', 'webhook_tries')
    if record.err then
      redis.call('ZADD', keys[1], now + DAMAGED_MS, run) -- the others go on
    elseif record[1] then
      tell_at(args[1], run, now, tonumber(args[2]))
      taken[#taken + 1] = run
      taken[#taken + 1] = tonumber(record[2] or 0) + 1
    else
      redis.call('ZREM', keys[1], run) -- its record was deleted
    end
  end
  return taken
end

-- hooks_end(hooks; prefix, run, attempt, outcome, wait_ms, text[, waited_ms]): what became of an attempt.
-- "delivered" and "failed" are the end of it; after "again" and "later" another follows in wait_ms. "later" was no
-- attempt; nor was what says for how long on end there could be none, waited_ms above 0. text is for people.
-- Returns {"OK", number of the event or 0}, or {"GONE"}: the attempt was somebody else's meanwhile.
local function hooks_end(keys, args)
  local run, attempt, outcome, waited = args[2], tonumber(args[3]), args[4], args[7] or '0'
  local key = run_key(args[1], run)
  local tries = tonumber(redis.call('HGET', key, 'webhook_tries') or 0)
  if not redis.call('ZSCORE', keys[1], run) or attempt ~= tries + 1 then
    return { 'GONE' }
  end
  redis.call('HSET', key, 'webhook_said', args[6])
  if waited ~= '0' then
    redis.call('HSET', key, 'webhook_waited', waited)
  elseif outcome ~= 'later' then
    redis.call('HSET', key, 'webhook_tries', attempt)
    redis.call('HDEL', key, 'webhook_waited')
    tries = attempt
  end
  if outcome == 'later' or outcome == 'again' then
    tell_at(args[1], run, now_ms(), tonumber(args[5]))
    return { 'OK', 0 }
  end
  redis.call('ZREM', keys[1], run)
  redis.call('HSET', key, 'webhook_state', outcome)
  return { 'OK', log_event(args[1], run, { kind = 'webhook', status = outcome,
    attempts = tries, text = args[6] }) }
end

register('fl_hooks_take', hooks_take, 'allow-oom')
register('fl_hooks_end', hooks_end, 'allow-oom')
