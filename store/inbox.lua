
-- Reading the inbox: entries may be of any size, and what is read is moved at once.

-- Entries are read one first, then by twice as many, as long as they are small; so what is read beyond what was asked for
-- is bounded: by so many that may have what a submission may have at most.
local PORTION_MAX = 8
-- An entry has no more fields than these, nor larger ones, whatever a client has sent, and what is read no more
-- bytes: what is cut is no submission, and refused.
local ENTRY_FIELDS_MAX, ENTRY_BYTES_MAX, READ_BYTES_MAX = 64, 33554432, 268435456

-- Cuts what no submission may have; most: how many bytes may be left. Returns how many are; one that was deleted has none.
local function cut_entry(entry, most)
  local flat, bytes = entry[2] or {}, 0
  most = math.max(0, math.min(most, ENTRY_BYTES_MAX))
  for i = #flat, 2 * ENTRY_FIELDS_MAX + 1, -1 do
    flat[i] = nil
  end
  for i, text in ipairs(flat) do
    flat[i] = string.sub(text, 1, most - bytes)
    bytes = bytes + #flat[i]
  end
  return bytes
end

-- inbox_read(inbox; group, reader, from, count, bytes): entries that nobody has read (from ">"), or those behind the id
-- from that reader has read and not dealt with; at most count, and few behind the one that goes beyond so many bytes.
-- Returns them as XREADGROUP does.
local function inbox_read(keys, args)
  local from, count, most = args[3], tonumber(args[4]), tonumber(args[5])
  local found, bytes, portion = {}, 0, 1
  while #found < count and bytes < most do
    local answer = redis.call('XREADGROUP', 'GROUP', args[1], args[2], 'COUNT',
      math.min(portion, count - #found), 'STREAMS', keys[1], from)
    local entries = answer and answer[1] and answer[1][2] or {}
    for _, entry in ipairs(entries) do
      found[#found + 1] = entry
      bytes = bytes + cut_entry(entry, READ_BYTES_MAX - bytes)
    end
    if #entries < portion then
      break
    end
    from = from == '>' and from or found[#found][1]
    portion = math.min(2 * portion, PORTION_MAX)
  end
  return found
end

local LOOKED_AT = 100

-- Redis says that an entry which was read before its clock was set back has just been read, until the clock has caught
-- up. Of those of which it says so, the time is now: from here on it goes by. (Users of Redis from before this may not.)
local function start_times(inbox, group)
  for _, pending in ipairs(redis.call('XPENDING', inbox, group, '-', '+', LOOKED_AT)) do
    if pending[3] == 0 then
      redis.pcall('XCLAIM', inbox, group, pending[2], 0, pending[1], 'IDLE', '0', 'JUSTID')
    end
  end
end

-- inbox_orphans(inbox; group, reader, idle_ms, from, count, bytes): the same of entries that somebody has read and
-- not dealt with for so long: they are reader's now. Returns {where the next call is to go on, "0-0": nowhere, entries}.
local function inbox_orphans(keys, args)
  local found, from, bytes = {}, args[4], 0
  start_times(keys[1], args[1])
  for _ = 1, tonumber(args[5]) do
    local answer = redis.call('XAUTOCLAIM', keys[1], args[1], args[2], args[3], from, 'COUNT', '1')
    from = answer[1]
    local entry = answer[2][1]
    if entry then
      found[#found + 1] = entry
      bytes = bytes + cut_entry(entry, READ_BYTES_MAX)
    end
    if from == '0-0' or bytes >= tonumber(args[6]) then
      break
    end
  end
  return { from, found }
end

register('fl_inbox_read', inbox_read, 'allow-oom')
register('fl_inbox_orphans', inbox_orphans, 'allow-oom')
