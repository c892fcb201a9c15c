-- Creates shoots with names of their own. From the environment: BODY has the object with the name
-- NAME, RUN begins names, NAMESPACES takes turns; with LIMIT the run ends after so many answers.
local body = os.getenv("BODY")
local run = os.getenv("RUN")
local limit = tonumber(os.getenv("LIMIT") or "0")
local threads = 0
local sent = -1 -- wrk has one request made to look at it, and does not send it
local answered = 0
local refused = 0
local paths = {}

function setup(thread)
    threads = threads + 1
    thread:set("number", threads)
end

function init()
    local at = body:find("NAME", 1, true)
    before, after = body:sub(1, at - 1), body:sub(at + 4)
    for namespace in os.getenv("NAMESPACES"):gmatch("%S+") do
        paths[#paths + 1] = wrk.path .. "/namespaces/" .. namespace .. "/shoots"
    end
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/json"
    wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
    if limit > 0 then
        -- Only then: wrk parses every answer's headers for it. It cannot be told to end before its
        -- time, so the process does.
        response = function(status)
            if status >= 300 then refused = refused + 1 end
            answered = answered + 1
            if answered >= limit then
                io.write(string.format("RESULT %d 1 %d 0 0 0\n", answered, refused))
                io.flush()
                os.exit(0)
            end
        end
    end
end

function request()
    sent = sent + 1
    local name = run .. "-" .. number .. "-" .. sent
    return wrk.format(nil, paths[sent % #paths + 1], nil, before .. name .. after)
end

function done(summary, latency)
    io.write(string.format("RESULT %d %d %d %d %d %d\n",
        summary.requests, summary.duration, summary.errors.status,
        summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
