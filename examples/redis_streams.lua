#!lua name=inturn
-- Shares the partitions of the example redis_streams among its consumers, one
-- consumer a partition at a time: the one that has its lease.

-- FCALL inturn_hold COUNT MEMBERS LEASE... NAME MILLISECONDS IDLE...
--
-- Announces the consumer NAME and renews its leases. If it has more than its
-- share, it gives back those that it lists as IDLE (by number, from 0); if it
-- has fewer, it takes free ones. Returns the size of its share, the partitions
-- that it keeps for the next MILLISECONDS, and the newly taken ones. It stops
-- reading partitions that it keeps beyond its share, so that they become idle.
--
-- A consumer that is late loses its leases, even if nobody else wants them:
-- they are then returned among the newly taken ones.
local function hold(keys, arguments)
  local members, name, limit = keys[1], arguments[1], tonumber(arguments[2])
  local idle = {}
  for index = 3, #arguments do
    idle[tonumber(arguments[index])] = true
  end

  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZADD', members, now + limit, name)
  redis.call('ZREMRANGEBYSCORE', members, '-inf', now)
  local share = math.ceil((#keys - 1) / redis.call('ZCARD', members))

  local kept, taken, free = {}, {}, {}
  for index = 2, #keys do
    local holder = redis.call('GET', keys[index])
    if holder == name then
      kept[#kept + 1] = index - 2
    elseif not holder then
      free[#free + 1] = index - 2
    end
  end
  for index = #kept, 1, -1 do
    if #kept > share and idle[kept[index]] then
      redis.call('DEL', keys[kept[index] + 2])
      table.remove(kept, index)
    end
  end
  for _, partition in ipairs(free) do
    if #kept + #taken < share then
      taken[#taken + 1] = partition
    end
  end
  for _, list in ipairs({kept, taken}) do
    for _, partition in ipairs(list) do
      redis.call('SET', keys[partition + 2], name, 'PX', limit)
    end
  end
  return {share, kept, taken}
end

-- FCALL inturn_read COUNT LEASE... STREAM... NAME GROUP ID...
--
-- Reads entries after the IDs, but only from streams whose leases the consumer
-- NAME holds at this moment. So a consumer whose lease has expired takes no
-- entry, which would be lost to the others. The group has one consumer.
local function read(keys, arguments)
  local count, name, group = #keys / 2, arguments[1], arguments[2]
  local streams, ids = {}, {}
  for index = 1, count do
    if redis.call('GET', keys[index]) == name then
      streams[#streams + 1] = keys[count + index]
      ids[#ids + 1] = arguments[2 + index]
    end
  end
  if #streams == 0 then
    return {}
  end
  local words = {'GROUP', group, 'holder', 'COUNT', 16, 'STREAMS'}
  for _, list in ipairs({streams, ids}) do
    for _, word in ipairs(list) do
      words[#words + 1] = word
    end
  end
  return redis.call('XREADGROUP', unpack(words)) or {}
end

-- FCALL inturn_leave COUNT MEMBERS LEASE... NAME
--
-- Removes the consumer NAME. Its leases are free at once.
local function leave(keys, arguments)
  redis.call('ZREM', keys[1], arguments[1])
  for index = 2, #keys do
    if redis.call('GET', keys[index]) == arguments[1] then
      redis.call('DEL', keys[index])
    end
  end
  return redis.status_reply('OK')
end

redis.register_function('inturn_hold', hold)
redis.register_function('inturn_read', read)
redis.register_function('inturn_leave', leave)
