-- Drives wrk with requests that carry what was signed beforehand, each used once: for ceilings where signing in the load
-- generator would be the bottleneck. Started by lib/generators.py, which also says what is in the files.
--
--   STRESS_REQUEST  file: one whole HTTP request; \1 in it stands for the first of what was signed, \3 for the second,
--                   \2 for an eight-digit number
--   STRESS_SIGNED   file: records of the same length, one after the other; unset: the request has nothing signed
--   STRESS_LENGTHS  lengths of the one or two parts of a record, with a comma between them
--   STRESS_THREADS
--
-- Thread k of n uses the k-th n-th of the file. When its records run out it stops, and the run is not valid.
-- Only statuses are looked at. The last line of the output is one JSON object; times in it are in microseconds.

local threads = {}

function setup(thread)
  thread:set("slot", #threads)
  table.insert(threads, thread)
end

local function read_file(name)
  local file = assert(io.open(name, "rb"))
  local content = file:read("*a")
  file:close()
  return content
end

local function read_slice(name, length, slot, count)
  local file = assert(io.open(name, "rb"))
  local share = math.floor(file:seek("end") / length / count)
  file:seek("set", slot * share * length)
  local slice = file:read(share * length) or ""
  file:close()
  return slice, share
end

local FIRST, NUMBER, SECOND = "\1", "\2", "\3"

-- The template as a list: texts, and marks between them.
local function split(template)
  local pieces = {}
  for text, mark in template:gmatch("([^\1\2\3]*)([\1\2\3]?)") do
    if text ~= "" then
      table.insert(pieces, text)
    end
    if mark ~= "" then
      table.insert(pieces, mark)
    end
  end
  return pieces
end

local pieces = {}
local records, first_length, record_length, last = nil, 0, 0, math.huge

function init()
  statuses, used, exhausted = {}, 0, false
  local count = tonumber(os.getenv("STRESS_THREADS"))
  pieces = split(read_file(os.getenv("STRESS_REQUEST")))
  local name = os.getenv("STRESS_SIGNED")
  if name then
    local first, second = os.getenv("STRESS_LENGTHS"):match("^(%d+),?(%d*)$")
    first_length = tonumber(first)
    record_length = first_length + (tonumber(second) or 0)
    records, last = read_slice(name, record_length, slot, count)
  end
end

function request()
  if used >= last then
    exhausted = true
    wrk.thread:stop()
    used = last - 1
  end
  local start = used * record_length
  used = used + 1
  local parts = {}
  for place, piece in ipairs(pieces) do
    if piece == FIRST then
      parts[place] = records:sub(start + 1, start + first_length)
    elseif piece == SECOND then
      parts[place] = records:sub(start + first_length + 1, start + record_length)
    elseif piece == NUMBER then
      parts[place] = string.format("%02d%06d", slot % 100, used % 1000000)
    else
      parts[place] = piece
    end
  end
  return table.concat(parts)
end

function response(status)
  statuses[status] = (statuses[status] or 0) + 1
end

local function json_of_statuses()
  local sums, parts = {}, {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("statuses")) do
      sums[status] = (sums[status] or 0) + count
    end
  end
  for status, count in pairs(sums) do
    table.insert(parts, string.format('"%d":%d', status, count))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

function done(summary, latency)
  local ran_out, errors = false, summary.errors
  for _, thread in ipairs(threads) do
    ran_out = ran_out or thread:get("exhausted")
  end
  io.write(string.format(
    '\n{"duration":%d,"statuses":%s,"exhausted":%s,"p50":%d,"p95":%d,"p99":%d,"max":%d,'
      .. '"socket_errors":%d}\n',
    summary.duration, json_of_statuses(), tostring(ran_out),
    latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max,
    errors.connect + errors.read + errors.write + errors.timeout))
end
