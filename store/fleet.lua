#!lua name=flotilla
-- The atomic steps on threads, runs, items and agents (store/store.h says who calls them and why;
-- docs/redis.md describes the keys). All files of the library are one chunk, in the order of store.c;
-- this one is the first, and has what the others use. Rules of all of them: every check comes before
-- the first write, since Redis does not roll back; TIME is the only clock. Of calls on a shard every key
-- carries its hash tag, but two of fl_arrive's, one of fl_submit's, and again_key: KEYS[1] is the thread's hash, or the shard's `due` set where no thread is meant;
-- ARGV[1] is the shard's prefix, "fl:{s17}:". Those on the inbox, names of runs, items and agents say what theirs are.

local ARGUMENTS_MAX = 1000 -- of one command, even: Lua's stack is short
-- TIME is a wall clock. What is due later than so many ms from now, a long time for a lease, was
-- written before somebody set it back.
local CLOCK_SET_BACK = 10000
local DAMAGED_MS = 60000 -- what cannot be seen to, since its key is of a wrong type, is looked at again behind so long

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

-- What a text like "running 0 1 0 1" says of a commit: its status, whether it drops results, how many
-- messages, fields and events it has. Of numbers of one digit, it is known.
local whats = {}
local function what_of(said)
  local what = whats[said]
  if not what then
    local status, drop, messages, fields, events = string.match(said, '^(%a+) (%d) (%d+) (%d+) (%d+)$')
    what = { status = status, drops = drop == '1', messages = tonumber(messages),
      fields = tonumber(fields), events = tonumber(events) }
    if #said <= #status + 8 then
      whats[said] = what
    end
  end
  return what
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

-- What says how many runs of that id there were lately that were deleted (forget_run). The next one may be another shard's.
local function again_key(run)
  return 'fl:run:' .. run .. ':g'
end

-- A field of a run's record, or nil, as where the record is damaged: a key of another type.
local function record_field(prefix, run, name)
  local value = redis.pcall('HGET', run_key(prefix, run), name)
  return type(value) == 'string' and value or nil
end

-- The value of name in what HGETALL answered, or in arguments from index first on, or nil.
local function field_of(flat, name, first)
  for i = first or 1, #flat, 2 do
    if flat[i] == name then
      return flat[i + 1]
    end
  end
end

-- {name: value} of {name, value, ...} from index first on.
local function line_of(flat, first)
  local record = {}
  for i = first, #flat, 2 do
    record[flat[i]] = flat[i + 1]
  end
  return record
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

-- At maxmemory Redis refuses every function but those that must go on: leases, what frees, and what only reads.
local function register(name, callback, flag)
  redis.register_function{ function_name = name, callback = callback, flags = { flag } }
end
