-- Creates shoots with names of their own: BODY has the object with the name NAME, RUN begins names.
local body = os.getenv("BODY")
local run = os.getenv("RUN")
local threads = 0
local sent = 0

function setup(thread)
    threads = threads + 1
    thread:set("number", threads)
end

function init()
    local at = body:find("NAME", 1, true)
    before, after = body:sub(1, at - 1), body:sub(at + 4)
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/json"
    wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
end

function request()
    sent = sent + 1
    return wrk.format(nil, nil, nil, before .. run .. "-" .. number .. "-" .. sent .. after)
end

function done(summary, latency)
    io.write(string.format("RESULT %d %d %d %d %d %d\n",
        summary.requests, summary.duration, summary.errors.status,
        summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
