#!lua name=floor

-- KEYS: the thread and its messages. ARGV: epoch, head, messages ... Nothing changes when another
-- epoch is there.
local function commit(keys, args)
  local epoch = redis.call('HGET', keys[1], 'epoch')
  if epoch and epoch ~= args[1] then
    return redis.error_reply('FENCED')
  end
  redis.call('RPUSH', keys[2], unpack(args, 3))
  redis.call('HSET', keys[1], 'epoch', args[1], 'head', args[2])
  return redis.status_reply('OK')
end

redis.register_function('floor_commit', commit)
