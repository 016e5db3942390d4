#!/usr/bin/python3
"""One measurement of bare dispatch by Celery as a line (bench/line.h): jobs of 300 bytes that answer with as
many; Redis with its append-only file is broker and result backend.

    celery_peer.py JOBS IN_FLIGHT

The worker is the default one, a process a core; the client waits for the oldest of the jobs in flight.
"""
import collections
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from celery import Celery

NAME, BYTES, WARM_UP_JOBS = "celery", 300, 500
SOCKET = os.environ.get("BENCH_SOCKET", "")
app = Celery("celery_peer", broker=f"redis+socket://{SOCKET}", backend=f"redis+socket://{SOCKET}")
app.conf.update(broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)


@app.task(name="echo")
def echo(text):
    return text


def job_of(number):
    return f"{number} ".ljust(BYTES, "x")


def run_all(jobs, in_flight):
    waiting, times, sent = collections.deque(), [], 0
    while len(times) < jobs:
        while sent < jobs and len(waiting) < in_flight:
            text = job_of(sent)
            waiting.append((time.perf_counter(), text, echo.delay(text)))
            sent += 1
        began, text, result = waiting.popleft()
        if result.get(timeout=60) != text:
            sys.exit("an answer to another job")
        result.forget()
        times.append((time.perf_counter() - began) * 1e3)
    return sorted(times)


def cpu_us(pid):
    """Of the process and of its children, those that have ended among them."""
    total = 0
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        words = stat.read().split(") ")[1].split()
    total += sum(int(word) for word in words[11:15]) * 1e6 / os.sysconf("SC_CLK_TCK")
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return total + sum(cpu_us(child) for child in children.read().split())


def bench(jobs, in_flight):
    parts = {"queue": redis.pid, "worker": worker.pid}

    def read():
        used = {name: cpu_us(pid) for name, pid in parts.items()}
        used["client"] = time.process_time() * 1e6
        return used

    run_all(WARM_UP_JOBS, in_flight)
    before, began = read(), time.perf_counter()
    times = run_all(jobs, in_flight)
    seconds, after = time.perf_counter() - began, read()
    cost = {name: (after[name] - before[name]) / jobs for name in after}
    text = " ".join(f"{name}={value:.1f}" for name, value in cost.items())
    print("dispatch", NAME, "everysec", in_flight, jobs, f"{jobs / seconds:.1f}", f"{times[len(times) // 2]:.3f}",
          f"{times[int(0.99 * (len(times) - 1))]:.3f}", f"{sum(cost.values()):.1f}", "-", text, sep="\t")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="flotilla-bench-", dir="/tmp")
    SOCKET = os.environ["BENCH_SOCKET"] = f"{folder}/redis"
    app.conf.update(broker_url=f"redis+socket://{SOCKET}", result_backend=f"redis+socket://{SOCKET}")
    with open(f"{folder}/log", "w", encoding="ascii") as log:
        redis = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", SOCKET, "--dir", folder, "--save", "", "--appendonly",
             "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"], stdout=log)
        while not os.path.exists(SOCKET):
            time.sleep(0.02)
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "celery_peer", "worker", "--loglevel", "ERROR", "--without-gossip",
             "--without-mingle"], stdout=log, stderr=log, cwd=os.path.dirname(os.path.abspath(__file__)))
        try:
            bench(int(sys.argv[1]), int(sys.argv[2]))
        finally:
            gc.collect()  # what still waits for Redis, before it goes
            worker.terminate()
            worker.wait()
            redis.kill()
            redis.wait()
            shutil.rmtree(folder, ignore_errors=True)
