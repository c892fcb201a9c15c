-- Reads shoots by name, in turn: those that create.lua made as RUN-1-1 to RUN-1-COUNT.
local run = os.getenv("RUN")
local count = tonumber(os.getenv("COUNT"))
local at = 0
local base

function init()
    base = wrk.path .. "/namespaces/" .. os.getenv("NAMESPACES") .. "/shoots/" .. run .. "-1-"
    wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
end

function request()
    at = (at + 7919) % count -- a prime: neighbours in the collection are not asked for in turn
    return wrk.format(nil, base .. (at + 1))
end

function done(summary, latency)
    io.write(string.format("RESULT %d %d %d %d %d %d\n",
        summary.requests, summary.duration, summary.errors.status,
        summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
