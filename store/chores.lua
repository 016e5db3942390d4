
-- What is to be done in a shard besides its runs: one look tells whether there is anything.

-- chores(due key; prefix): how much waits there: {runs whose children are to be cancelled, ends that
-- are to be told, items whose time is over, threads whose time is over, runs that were forgotten}.
local function chores(_, args)
  local prefix, now = args[1], now_ms()
  return { redis.call('SCARD', prefix .. 'bereft'),
    redis.call('ZCOUNT', prefix .. 'hooks', '-inf', now),
    redis.call('ZCOUNT', prefix .. 'item-ends', 1, now),
    redis.call('ZCOUNT', prefix .. 'ttl', '-inf', now),
    redis.call('SCARD', prefix .. 'gone') }
end

register('fl_chores', chores, true)
