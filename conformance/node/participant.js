'use strict';

// A participant in real life: takes locks with the published packages, as it is told
// on standard input, one JSON command a line, each answered by one line. It ends
// when standard input does.

const fs = require('fs');
const readline = require('readline');

const packages = {
  lockfile: () => require('lockfile'),
  'proper-lockfile 4.1.2': () => require('proper-lockfile-4'),
  'proper-lockfile 1.2.0': () => require('proper-lockfile-1'),
};

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function settle(call) {
  return new Promise((resolve, reject) => {
    call((error, value) => (error ? reject(error) : resolve(value)));
  });
}

// systems make the packages alike. lock resolves to a function that releases.
function lockfileSystem(lockfile) {
  const unlock = (path) => settle((done) => lockfile.unlock(path, done));
  return {
    async lock(c) {
      await settle((done) => lockfile.lock(c.path, optionsOf(c), done));
      return () => unlock(c.path);
    },
    async lockSync(c) {
      lockfile.lockSync(c.path, optionsOf(c));
      return () => unlock(c.path);
    },
    check: (c) => settle((done) => lockfile.check(c.path, optionsOf(c), done)),
    async checkSync(c) {
      return lockfile.checkSync(c.path, optionsOf(c));
    },
  };
}

function properSystem(proper, callbacks, lost) {
  const call = (f, ...args) => (callbacks ? settle((done) => f(...args, done)) : f(...args));
  const onCompromised = (c) => (error) => lost.set(c.id, { code: error.code, message: error.message });
  const once = (release) => () => call(release);
  return {
    async lock(c) {
      return once(callbacks
        ? await settle((done) => proper.lock(c.path, optionsOf(c), onCompromised(c), done))
        : await proper.lock(c.path, { ...optionsOf(c), onCompromised: onCompromised(c) }));
    },
    async lockSync(c) {
      const release = callbacks
        ? proper.lockSync(c.path, optionsOf(c), onCompromised(c))
        : proper.lockSync(c.path, { ...optionsOf(c), onCompromised: onCompromised(c) });
      return () => settle((done) => {
        try { release(); done(null); } catch (error) { done(error); }
      });
    },
    check: (c) => call(proper.check, c.path, optionsOf(c)),
    async checkSync(c) {
      return proper.checkSync(c.path, optionsOf(c));
    },
  };
}

const lost = new Map();
const releases = new Map();
const systems = new Map();

function system(name) {
  if (!systems.has(name)) {
    const loaded = packages[name]();
    systems.set(name, name === 'lockfile'
      ? lockfileSystem(loaded)
      : properSystem(loaded, name.endsWith('1.2.0'), lost));
  }
  return systems.get(name);
}

// contend takes the lock again and again. Inside, a file that only one can create
// tells whether anybody else is in there too, and a counter is incremented in two
// steps, so that what is done at the same time is lost.
async function contend(c) {
  let overlaps = 0;
  const taker = system(c.system);
  for (let i = 0; i < c.rounds; i++) {
    const release = await taker.lock(c);
    try {
      fs.closeSync(fs.openSync(c.guard, 'wx'));
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      overlaps++;
    }
    const count = Number(fs.readFileSync(c.counter, 'utf8'));
    await pause(0);
    fs.writeFileSync(c.counter, String(count + 1));
    try {
      fs.unlinkSync(c.guard);
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
    await release();
  }
  return { overlaps };
}

// optionsOf returns the options object of a command. What Node takes as retries, a
// number or an object, are two fields there.
function optionsOf({ options: { schedule, ...options } = {} }) {
  return schedule ? { ...options, retries: schedule } : options;
}

// storm tries to take many locks at once. Those of lockfile go by mtime in it, which can
// be set back.
async function storm(c) {
  if (c.system === 'lockfile') require('lockfile').filetime = 'mtime';
  const won = await Promise.all(c.paths.map(async (path) => {
    try {
      releases.set(path, await system(c.system).lock({ ...c, id: path, path }));
      return true;
    } catch (error) {
      return false;
    }
  }));
  return { won };
}

// chaos takes the lock again and again, and tells when it has taken it, and before it
// releases it from when to when it has had it. It does so until the process is killed.
async function chaos(c) {
  const now = () => Number(process.hrtime.bigint());
  for (;;) {
    const release = await system(c.system).lock(c);
    const from = now();
    process.stdout.write(`${JSON.stringify({ from })}\n`);
    await pause(Math.random() * 10);
    process.stdout.write(`${JSON.stringify({ from, to: now() })}\n`);
    await release();
  }
}

const commands = {
  async hello() {
    return { version: process.version, protocol: 1, systems: Object.keys(packages) };
  },
  async lock(c) {
    lost.delete(c.id);
    releases.set(c.id, await system(c.system).lock(c));
    return {};
  },
  async lockSync(c) {
    lost.delete(c.id);
    releases.set(c.id, await system(c.system).lockSync(c));
    return {};
  },
  async release(c) {
    await releases.get(c.id)();
    return {};
  },
  async check(c) { return { locked: await system(c.system).check(c) }; },
  async checkSync(c) { return { locked: await system(c.system).checkSync(c) }; },
  async lost(c) { return { lost: lost.get(c.id) || null }; },
  async contend(c) { return contend(c); },
  async storm(c) { return storm(c); },
  async chaos(c) { return chaos(c); },
  async calm() {
    for (const release of releases.values()) await release().catch(() => {});
    releases.clear();
    return {};
  },
  async exit() { process.exit(0); },
};

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const c = JSON.parse(line);
  commands[c.do](c)
    .catch((error) => ({ error: { code: error.code || '', message: error.message } }))
    .then((answer) => process.stdout.write(JSON.stringify(answer) + '\n'));
});
lines.on('close', () => process.exit(0));
