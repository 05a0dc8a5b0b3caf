#!/usr/bin/env python3
"""A participant for conform check: lockfile and proper-lockfile 4.1.2 in Python.

It is written from conformance/FORMAT.md and conformance/contracts alone, with the
standard library, and is an example, not a package. It refreshes its locks from threads.

With --naive its heartbeat never looks whether the lock is still its own, as in most
ports. So it never learns that another process has taken the lock over, and its release
removes the other's lock. conform check finds that out.
"""
import errno
import json
import os
import signal
import sys
import threading
import time

NAIVE = "--naive" in sys.argv[1:]


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def code_of(error):
    if isinstance(error, Failure):
        return error.code
    return errno.errorcode.get(getattr(error, "errno", None), "")


class LockfileLock:
    def __init__(self, path):
        self.path, self.lost = path, None

    def release(self):
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        held.discard(self)

    end = release


def lockfile_lock(command, options):
    path, stale = command["path"], options.get("stale", 0)
    wait, poll = options.get("wait", 0), options.get("pollPeriod", 100)
    end, retries = time.monotonic() + wait / 1000, options.get("retries", 0)
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            lock = LockfileLock(path)
            held.add(lock)
            return lock
        except FileExistsError:
            try:
                if stale and is_stale(path, stale, "ctime"):
                    os.unlink(path)
                    continue
            except FileNotFoundError:
                continue
            if command["do"] != "lockSync" and time.monotonic() < end:
                time.sleep(poll / 1000)
            elif retries > 0:
                retries -= 1
            else:
                raise


def lockfile_check(command, options):
    path, stale = command["path"], options.get("stale", 0)
    return present(path, stale, "ctime")


def is_stale(path, stale, which):
    """Whether the lock is older than stale ms. It raises FileNotFoundError if it is gone:
    what is at the path after that is another's, and must not be removed."""
    return (time.time() - getattr(os.stat(path), "st_" + which)) * 1000 > stale


def present(path, stale, which):
    try:
        return os.path.lexists(path) and not (stale and is_stale(path, stale, which))
    except FileNotFoundError:
        return False


class ProperLock:
    def __init__(self, path, stale, update):
        self.path, self.stale, self.update = path, stale, update
        self.lost, self.released = None, threading.Event()
        self.mutex = threading.Lock()
        self.mtime = os.stat(path).st_mtime_ns
        self.touched = time.time()
        held.add(self)
        threading.Thread(target=self.refresh, daemon=True).start()

    def refresh(self):
        while not self.released.wait(self.update / 1000):
            with self.mutex:
                if self.released.is_set():
                    return
                try:
                    if not NAIVE and os.stat(self.path).st_mtime_ns != self.mtime:
                        return self.compromised("Unable to update lock within the stale threshold")
                    now = time.time_ns() // 1_000_000 * 1_000_000
                    os.utime(self.path, ns=(now, now))
                    self.mtime, self.touched = now, time.time()
                except FileNotFoundError as error:
                    if not NAIVE:
                        return self.compromised(str(error))
                except OSError as error:
                    if (time.time() - self.touched) * 1000 > self.stale:
                        return self.compromised(str(error))

    def compromised(self, message):
        self.lost = {"code": "ECOMPROMISED", "message": message}
        self.released.set()
        held.discard(self)

    def release(self):
        with self.mutex:
            if self.released.is_set():
                raise Failure("ERELEASED", "Lock is already released")
            self.end()

    def end(self):
        self.released.set()
        held.discard(self)
        try:
            os.rmdir(self.path)
        except FileNotFoundError:
            pass


def proper_options(options):
    stale = max(options.get("stale", 10_000), 2000)
    update = max(min(options.get("update", stale / 2), stale / 2), 1000)
    return stale, update


def proper_lock(command, options):
    path = os.path.realpath(command["path"], strict=True) + ".lock"
    stale, update = proper_options(options)
    schedule = options.get("schedule", {"retries": options.get("retries", 0), "factor": 2, "minTimeout": 1000})
    for attempt in range(schedule["retries"] + 1):
        for removed in (False, True):
            try:
                os.mkdir(path)
                return ProperLock(path, stale, update)
            except FileExistsError:
                try:
                    if removed or not is_stale(path, stale, "mtime"):
                        break
                    os.rmdir(path)
                except FileNotFoundError:
                    pass
        if attempt < schedule["retries"]:
            time.sleep(schedule["minTimeout"] * schedule["factor"] ** attempt / 1000)
    raise Failure("ELOCKED", "Lock file is already being held")


def proper_check(command, options):
    path = os.path.realpath(command["path"], strict=True) + ".lock"
    return present(path, proper_options(options)[0], "mtime")


SYSTEMS = {
    "lockfile": (lockfile_lock, lockfile_check),
    "proper-lockfile 4.1.2": (proper_lock, proper_check),
}
held, locks = set(), {}


def contend(command, options):
    overlaps = 0
    for _ in range(command["rounds"]):
        lock = SYSTEMS[command["system"]][0](command, options)
        try:
            os.close(os.open(command["guard"], os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            overlaps += 1
        with open(command["counter"]) as file:
            count = int(file.read())
        with open(command["counter"], "w") as file:
            file.write(str(count + 1))
        try:
            os.unlink(command["guard"])
        except FileNotFoundError:
            pass
        lock.release()
    return overlaps


def obey(command):
    do, options = command["do"], command.get("options", {})
    if do == "hello":
        return {"version": "Python" + (", naive" if NAIVE else ""), "protocol": 1, "systems": list(SYSTEMS)}
    if do in ("lock", "lockSync"):
        locks[command["id"]] = SYSTEMS[command["system"]][0](command, options)
        return {}
    if do in ("check", "checkSync"):
        return {"locked": SYSTEMS[command["system"]][1](command, options)}
    if do == "release":
        locks[command["id"]].release()
        return {}
    if do == "lost":
        return {"lost": locks[command["id"]].lost}
    if do == "contend":
        return {"overlaps": contend(command, options)}
    if do == "exit":
        end()
        os._exit(0)
    raise Failure("", "there is no command " + json.dumps(do))


def end():
    for lock in list(held):
        lock.end()


def on_signal(number, _):
    end()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


# A process dies of these, and lockfile's contract (L23) wants nothing left.
for name in ("SIGABRT SIGALRM SIGHUP SIGINT SIGTERM SIGVTALRM SIGXCPU SIGXFSZ SIGUSR2 "
             "SIGTRAP SIGSYS SIGQUIT SIGIO SIGPWR SIGSTKFLT").split():
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), on_signal)

for line in sys.stdin:
    try:
        answer = obey(json.loads(line))
    except Exception as error:
        answer = {"error": {"code": code_of(error), "message": str(error)}}
    print(json.dumps(answer), flush=True)
end()
