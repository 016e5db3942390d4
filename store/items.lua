
-- Long-term memory: items under namespaces (store/items.h). A shard's items are found by the first
-- label of their namespace. One member stands for an item, everywhere: its labels, each ended by
-- the byte 31, then 30 and its key, so that the order of bytes keeps a namespace and all below it
-- together. KEYS[1] is `items`, the members; `item` has what they hold: "created updated expires"
-- in ms (expires 0: never), perhaps " ttl" (0: none) and behind that " index", a line feed, the packed value.

local function item_times(bytes)
  local created, updated, expires = string.match(bytes or '', '^(%d+) (%d+) (%d+)[^\n]*\n')
  return tonumber(created), tonumber(updated), tonumber(expires)
end

local function item_is_over(bytes, now)
  local _, _, expires = item_times(bytes)
  return not expires or (expires > 0 and expires <= now)
end

local function drop_items(prefix, members)
  call_with('HDEL', prefix .. 'item', members, 1, #members)
  call_with('ZREM', prefix .. 'items', members, 1, #members)
  call_with('ZREM', prefix .. 'item-ends', members, 1, #members)
  call_with('HDEL', prefix .. 'item-vector', members, 1, #members)
end

-- Makes an item that was put for a while last as long from now on, unless that is hardly later: it is written whole.
-- Returns what it holds.
local function item_refreshed(prefix, member, bytes, now)
  local head, expires, ttl, rest = string.match(bytes, '^(%d+ %d+) (%d+) (%d+)(.*)')
  expires, ttl = tonumber(expires), tonumber(ttl)
  if not ttl or expires == 0 or now + ttl - expires < ttl / 100 then
    return bytes
  end
  bytes = string.format('%s %.0f %.0f', head, now + ttl, ttl) .. rest
  redis.call('HSET', prefix .. 'item', member, bytes)
  redis.call('ZADD', prefix .. 'item-ends', now + ttl, member)
  return bytes
end

-- item_put(items; prefix, member, packed value, ttl_ms (0: for ever), index ("": none)). Returns {created, updated,
-- expires}.
local function item_put(keys, args)
  local prefix, member, ttl = args[1], args[2], tonumber(args[4])
  local now = now_ms()
  local old = redis.call('HGET', prefix .. 'item', member)
  local created, expires = now, 0
  if old and not item_is_over(old, now) then
    created = item_times(old)
  end
  if ttl > 0 then
    expires = now + ttl
    redis.call('ZADD', prefix .. 'item-ends', expires, member)
  else
    redis.call('ZREM', prefix .. 'item-ends', member)
  end
  local head = string.format('%.0f %.0f %.0f', created, now, expires)
  if args[5] and args[5] ~= '' then
    head = string.format('%s %.0f ', head, ttl) .. args[5]
  elseif ttl > 0 then
    head = string.format('%s %.0f', head, ttl)
  end
  redis.call('HSET', prefix .. 'item', member, head .. '\n' .. args[3])
  redis.call('ZADD', keys[1], 0, member)
  return { created, now, expires }
end

-- item_get(items; prefix, member, "refresh"?): {what it holds}, or {} for none.
local function item_get(_, args)
  local bytes, now = redis.call('HGET', args[1] .. 'item', args[2]), now_ms()
  if not bytes or item_is_over(bytes, now) then
    return {}
  end
  return { args[3] and item_refreshed(args[1], args[2], bytes, now) or bytes }
end

-- item_refresh(items; prefix, member...): likewise, of those that are there.
local function item_refresh(_, args)
  local now = now_ms()
  for i = 2, #args do
    local bytes = redis.call('HGET', args[1] .. 'item', args[i])
    if bytes and not item_is_over(bytes, now) then
      item_refreshed(args[1], args[i], bytes, now)
    end
  end
end

-- item_delete(items; prefix, member): how many there were.
local function item_delete(_, args)
  local had = redis.call('HEXISTS', args[1] .. 'item', args[2])
  drop_items(args[1], { args[2] })
  return had
end

-- item_page(items; prefix, from, below, count, bytes): members of the range in order, at most count,
-- each with what it holds; "" for one that is over. The one that goes beyond so many bytes is the
-- last, and "more" follows when there are others. from and below as ZRANGEBYLEX has them.
local function item_page(keys, args)
  local members = redis.call('ZRANGEBYLEX', keys[1], args[2], args[3], 'LIMIT', 0, args[4])
  local now, left, page = now_ms(), tonumber(args[5] or math.huge), {}
  for i, member in ipairs(members) do
    local bytes = redis.call('HGET', args[1] .. 'item', member)
    page[2 * i - 1] = member
    page[2 * i] = item_is_over(bytes, now) and '' or bytes
    left = left - #page[2 * i]
    if left < 0 and i < #members then
      page[2 * i + 1] = 'more'
      break
    end
  end
  return page
end

-- item_spaces(items; prefix, from, below, count): the namespaces of the range that hold items, in
-- order, at most count, as members without a key.
local function item_spaces(keys, args)
  local spaces, from = {}, args[2]
  while #spaces < tonumber(args[4]) do
    local member = redis.call('ZRANGEBYLEX', keys[1], from, args[3], 'LIMIT', 0, 1)[1]
    if not member then
      break
    end
    local space = string.match(member, '^(.*\31)\30')
    if not space then -- none of ours
      from = '(' .. member
    else
      spaces[#spaces + 1] = space
      from = '[' .. space .. '\31' -- behind all of its keys, before what is below it
    end
  end
  return spaces
end

-- item_vectors(items; prefix, member...): what is kept of each one's vector, as it was set; "" for none.
local function item_vectors(_, args)
  local vectors = {}
  for i = 2, #args do
    vectors[i - 1] = redis.call('HGET', args[1] .. 'item-vector', args[i]) or ''
  end
  return vectors
end

-- item_set_vectors(items; prefix, member, vector, member, vector ...): keeps them with items that are there still.
local function item_set_vectors(_, args)
  for i = 2, #args, 2 do
    if redis.call('HEXISTS', args[1] .. 'item', args[i]) == 1 then
      redis.call('HSET', args[1] .. 'item-vector', args[i], args[i + 1])
    end
  end
end

local CLAIM_MS_MAX = 60000 -- the longest claim: LEFT_MS (store/item_vectors.c)

-- item_claim(items; prefix, bytes, ms, member, digest, member, digest ...): claims to the making of their vectors, for
-- so long, which `item-claims` has, member and digest -> until when. Returns for each 1: it is the caller's; 0: somebody
-- else's, or there is one of so many bytes by now.
local function item_claim(_, args)
  local prefix, now, mine = args[1], now_ms(), {}
  local over = redis.call('ZRANGEBYSCORE', prefix .. 'item-claims', '-inf', now)
  call_with('ZREM', prefix .. 'item-claims', over, 1, #over)
  over = redis.call('ZRANGEBYSCORE', prefix .. 'item-claims', now + CLAIM_MS_MAX + CLOCK_SET_BACK, '+inf')
  call_with('ZREM', prefix .. 'item-claims', over, 1, #over)
  for i = 4, #args, 2 do
    local kept = redis.call('HGET', prefix .. 'item-vector', args[i]) or ''
    local is_there = #kept == tonumber(args[2]) and string.sub(kept, 1, #args[i + 1]) == args[i + 1]
    mine[#mine + 1] = is_there and 0 or
      redis.call('ZADD', prefix .. 'item-claims', 'NX', now + tonumber(args[3]), args[i] .. args[i + 1])
  end
  return mine
end

-- item_hold(items; prefix, ms, member, digest, member, digest ...): claims last for so long from now on; 0: no longer.
local function item_hold(_, args)
  local prefix, ms = args[1], tonumber(args[2])
  for i = 3, #args, 2 do
    if ms == 0 then
      redis.call('ZREM', prefix .. 'item-claims', args[i] .. args[i + 1])
    else
      redis.call('ZADD', prefix .. 'item-claims', 'XX', now_ms() + ms, args[i] .. args[i + 1])
    end
  end
end

-- embed_ask(fl:embed, the answer's key, fl:embedder, the key of who is at it; what is asked, ms, most): asks
-- coordinators, who answer into the answer's key while it is there; not again while one is at it. Returns {"ASKED"},
-- {"MANY"} when so many wait, {"NOBODY"} when there is none who answers.
local function embed_ask(keys, args)
  if redis.call('EXISTS', keys[3]) == 0 then
    return { 'NOBODY' }
  end
  if redis.call('EXISTS', keys[4]) == 1 then
    return { 'ASKED' }
  end
  if redis.call('LLEN', keys[1]) >= tonumber(args[3]) then
    return { 'MANY' }
  end
  redis.call('SET', keys[2], '', 'PX', args[2], 'NX') -- who asks once more may be answered already
  redis.call('RPUSH', keys[1], args[1])
  redis.call('PEXPIRE', keys[1], args[2])
  return { 'ASKED' }
end

-- embed_take(the answer's key, the key of who is at it; ms): begins with what was asked. Returns 1, or 0 when nobody
-- waits for it any more, it is answered, or somebody is at it.
local function embed_take(keys, args)
  if redis.call('GET', keys[1]) ~= '' then
    return 0
  end
  return redis.call('SET', keys[2], '', 'PX', args[1], 'NX') and 1 or 0
end

-- embed_beat(fl:embedder, keys of who is at it...; ms, ms of those): says that somebody answers, and is at these still.
local function embed_beat(keys, args)
  redis.call('SET', keys[1], '', 'PX', args[1])
  for i = 2, #keys do
    redis.call('PEXPIRE', keys[i], args[2])
  end
end

-- embed_return(fl:embed, the key of who is at it; what is asked, ms): somebody else is to do it.
local function embed_return(keys, args)
  redis.call('DEL', keys[2])
  redis.call('RPUSH', keys[1], args[1])
  redis.call('PEXPIRE', keys[1], args[2])
end

-- item_sweep(items; prefix, limit): forgets items whose time is over. Returns how many.
local function item_sweep(_, args)
  local over = redis.call('ZRANGEBYSCORE', args[1] .. 'item-ends', 1, now_ms(), 'LIMIT', 0, args[2])
  if #over > 0 then
    drop_items(args[1], over)
  end
  return #over
end

register('fl_item_put', item_put)
register('fl_item_get', item_get, 'allow-oom')
register('fl_item_refresh', item_refresh, 'allow-oom')
register('fl_item_delete', item_delete, 'allow-oom')
register('fl_item_page', item_page, 'allow-oom')
register('fl_item_spaces', item_spaces, 'allow-oom')
register('fl_item_vectors', item_vectors, 'allow-oom')
register('fl_item_set_vectors', item_set_vectors)
register('fl_item_claim', item_claim, 'allow-oom')
register('fl_item_hold', item_hold, 'allow-oom')
register('fl_embed_ask', embed_ask)
register('fl_embed_take', embed_take)
register('fl_embed_beat', embed_beat)
register('fl_embed_return', embed_return)
register('fl_item_sweep', item_sweep, 'allow-oom')
