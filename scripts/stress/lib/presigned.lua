-- Drives wrk with DPoP proofs that were signed beforehand, each used once: for ceilings where signing in the load
-- generator would be the bottleneck. Started by lib/generators.py, which also says what is in the files.
--
--   STRESS_REQUEST  file: one whole HTTP request; \1 in it stands for the proof, \2 for an eight-digit number
--   STRESS_PROOFS   file: proofs of the same length, one after the other; unset: the request has no proof
--   STRESS_PROOF_LENGTH, STRESS_THREADS
--
-- Thread k of n uses the k-th n-th of the file. When its proofs run out it stops, and the run is not valid.
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

local before, between, after = "", "", ""
local proofs, proof_length, last = nil, 0, math.huge

function init()
  statuses, used, exhausted = {}, 0, false
  local count = tonumber(os.getenv("STRESS_THREADS"))
  local template = read_file(os.getenv("STRESS_REQUEST"))
  before, between, after = template:match("^(.*)\1(.*)\2(.*)$")
  if not before then
    between, after = template:match("^(.*)\2(.*)$")
    before = ""
  end
  local name = os.getenv("STRESS_PROOFS")
  if name then
    proof_length = tonumber(os.getenv("STRESS_PROOF_LENGTH"))
    proofs, last = read_slice(name, proof_length, slot, count)
  end
end

function request()
  if used >= last then
    exhausted = true
    wrk.thread:stop()
    used = last - 1
  end
  local proof = proofs and proofs:sub(used * proof_length + 1, (used + 1) * proof_length) or ""
  used = used + 1
  return before .. proof .. between .. string.format("%02d%06d", slot % 100, used % 1000000) .. after
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
