'use strict';

// How a step becomes a call of each package. Each api is loaded into a world and
// gives { package, start(step, options, done, report) }: done({ error, locked,
// release }) when the call has settled, report(error) when a lock is compromised.

const { load } = require('./load');

// Runs a synchronous call.
function settle(done, call, result = () => ({})) {
  let value;
  try {
    value = call();
  } catch (error) {
    return done({ error });
  }
  done(result(value));
}

const locked = (value) => ({ locked: value });
const releasing = (release) => ({ release });

// lockfile@1.0.4 loses the error of unlock's unlink. @stackline/lockfile 1.0.6
// reports any but ENOENT, and differs in nothing else. The original runs, so that it
// keeps its books; the error is caught as it passes.
function correctUnlock(lockfile, fs) {
  const { unlock } = lockfile;
  lockfile.unlock = (path, callback) => {
    const { unlink } = fs;
    let error;
    fs.unlink = (p, done) => unlink(p, (err) => { error = err; done(err); });
    unlock(path, () => callback && callback(error && error.code !== 'ENOENT' ? error : undefined));
    fs.unlink = unlink;
  };
}

function lockfile(world, { filetime }) {
  const api = load('lockfile', world);
  correctUnlock(api, world.fs);
  // On any system: the recordings are Linux's.
  api.filetime = filetime || 'ctime';
  return {
    package: 'lockfile@1.0.4 + 1.0.6 unlock correction',
    start({ call, path }, options, done) {
      const args = options ? [path, options] : [path];
      if (call.endsWith('Sync')) {
        settle(done, () => api[call](...args), call === 'checkSync' ? locked : undefined);
      } else {
        api[call](...args, (error, value) => done({ error, locked: value }));
      }
    },
  };
}

function properLockfile1(world) {
  const api = load('proper-lockfile-1', world);
  return {
    package: 'proper-lockfile@1.2.0',
    start({ call, path }, options, done, report, taken) {
      const callback = (error, value) => done({ error, ...(call === 'check' ? locked(value) : releasing(value)) });
      const calls = {
        lock: () => api.lock(path, options || {}, report, callback),
        unlock: () => api.unlock(path, options, callback),
        check: () => api.check(path, options, callback),
        release: () => taken.release(callback),
        lockSync: () => settle(done, () => api.lockSync(path, options, report), releasing),
        unlockSync: () => settle(done, () => api.unlockSync(path, options)),
        checkSync: () => settle(done, () => api.checkSync(path, options), locked),
      };
      try {
        calls[call]();
      } catch (error) {
        done({ error });
      }
    },
  };
}

function properLockfile4(world) {
  const api = load('proper-lockfile-4', world);
  return {
    package: 'proper-lockfile@4.1.2',
    start({ call, path }, options, done, report, taken) {
      const promised = (promise, result = () => ({})) => promise.then(
        (value) => done(result(value)), (error) => done({ error }));
      const watched = { ...options, onCompromised: report };
      const calls = {
        lock: () => promised(api.lock(path, watched), releasing),
        unlock: () => promised(api.unlock(path, options)),
        check: () => promised(api.check(path, options), locked),
        release: () => (taken.sync ? settle(done, taken.release) : promised(taken.release())),
        lockSync: () => settle(done, () => api.lockSync(path, watched), releasing),
        unlockSync: () => settle(done, () => api.unlockSync(path, options)),
        checkSync: () => settle(done, () => api.checkSync(path, options), locked),
      };
      calls[call]();
    },
  };
}

module.exports = {
  lockfile: { '1.0.6': lockfile },
  'proper-lockfile': { '1.2.0': properLockfile1, '4.1.2': properLockfile4 },
};
