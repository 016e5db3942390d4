
-- What is to be done in a shard besides its runs: one look tells whether there is anything.

-- How much of key that verb counts. What is of a wrong type has nothing that could be done, and is noted in damaged.
local function count_of(damaged, verb, key, ...)
  local count = redis.pcall(verb, key, ...)
  if type(count) == 'number' then
    return count
  end
  damaged[#damaged + 1] = key
  return 0
end

-- chores(due key; prefix): how much waits there: {runs whose children are to be cancelled, ends that
-- are to be told, items whose time is over, threads whose time is over, runs that were forgotten, crons
-- that are due[, a key of these that is of a wrong type]}.
local function chores(_, args)
  local prefix = args[1]
  local bereft, hooks, ends = prefix .. 'bereft', prefix .. 'hooks', prefix .. 'item-ends'
  local ttl, forgotten, recurring = prefix .. 'ttl', prefix .. 'forgotten', prefix .. 'crons'
  if redis.call('EXISTS', bereft, hooks, ends, ttl, forgotten, recurring) == 0 then
    return { 0, 0, 0, 0, 0, 0 } -- nearly always
  end
  local now, damaged = now_ms(), {}
  local told = count_of(damaged, 'ZCOUNT', hooks, '-inf', now)
  if #damaged == 0 then
    told = told + #told_ahead(prefix, now, 1)
  end
  return { count_of(damaged, 'SCARD', bereft), told, count_of(damaged, 'ZCOUNT', ends, 1, now),
    count_of(damaged, 'ZCOUNT', ttl, '-inf', now), count_of(damaged, 'HLEN', forgotten),
    count_of(damaged, 'ZCOUNT', recurring, '-inf', now), damaged[1] }
end

-- The thread of a run that is there, or nil. What is damaged is none.
local function thread_of(prefix, run)
  local thread = redis.pcall('HGET', run_key(prefix, run), 'thread')
  return type(thread) == 'string' and thread or nil
end

-- gone(due key; prefix, limit, {run, note, "1" or "0"}...): strikes out runs that were forgotten, if
-- nothing has happened to them since they were listed so, and returns some of the others, at most
-- limit: {{run, note, "1": its id is in use again, the thread of that}, ...}. note, "entry thread",
-- is what is known of it: "-", that of no entry. A child's is ">run", and note its thread.
local function gone(_, args)
  local prefix, key, limit, found = args[1], args[1] .. 'forgotten', tonumber(args[2]), {}
  for i = 3, #args, 3 do
    local lives = thread_of(prefix, args[i]) and '1' or '0'
    if redis.call('HGET', key, args[i]) == args[i + 1] and lives == args[i + 2] then
      redis.call('HDEL', key, args[i])
    end
  end
  local some = limit > 0 and redis.call('HRANDFIELD', key, limit, 'WITHVALUES') or {}
  for i = 1, #some, 2 do
    local thread = thread_of(prefix, some[i])
    found[#found + 1] = { some[i], some[i + 1], thread and '1' or '0', thread or '' }
  end
  return found
end

-- unname(fl:run:<run>; prefix, thread): forgets which thread the run belongs to, if it is that one.
-- The key is in a slot of its own.
local function unname(keys, args)
  if redis.call('GET', keys[1]) == args[2] then
    return redis.call('DEL', keys[1])
  end
  return 0
end

register('fl_gone', gone, 'allow-oom')
register('fl_unname', unname, 'allow-oom')
register('fl_chores', chores, 'allow-oom')
