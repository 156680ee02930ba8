"""Single events in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open: a process a rank, a track a kind."""
import json

TRACKS = {"access": 1, "open": 1, "close": 1, "sync": 1, "size": 1, "resize": 1, "view": 1, "setting": 1, "blocked": 1, "exchange": 2, "sieve": 2, "lock": 3, "storage_read": 4, "storage_write": 4}
TRACK_NAMES = {1: "calls", 2: "exchange", 3: "locks", 4: "storage"}


def export(job):
    out = []
    hosts = {trace["rank"]: f" on {trace['host']}" for trace in job.traces}
    events = list(job.events())
    used = sorted({(rank, TRACKS.get(event["kind"], 2)) for rank, event in events})
    for rank in sorted({*hosts, *(rank for rank, _ in used)}):
        out.append({"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}{hosts.get(rank, '')}"}})
    out += [{"name": "thread_name", "ph": "M", "pid": rank, "tid": tid, "args": {"name": TRACK_NAMES[tid]}} for rank, tid in used]
    for rank, event in events:
        out.append({"name": event["call"] or event["kind"], "cat": event["kind"], "ph": "X", "ts": event["start"] * 1e6, "dur": event["seconds"] * 1e6, "pid": rank,
                    "tid": TRACKS.get(event["kind"], 2), "args": {key: event[key] for key in ("file", "bytes", "offset", "span", "pieces")}})
    return json.dumps({"traceEvents": out, "displayTimeUnit": "ms", "otherData": {"calls shown": f"one in {job.calls_per_kept}, with all that belongs to it"}})
