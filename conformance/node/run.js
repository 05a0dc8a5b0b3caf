'use strict';

// Runs one scenario with the real package and gives the recording.

const apis = require('./apis');
const { ROOT, relative } = require('./filesystem');
const { OPTIONS } = require('./scenario');
const { statMs } = require('./times');
const { World } = require('./world');

// A program that spins (a timer beyond Node's range fires at once) would fill the
// trace without end.
const MOST_EVENTS = 5000;

const OVERFLOW = 'Maximum call stack size exceeded';

const afterMicrotasks = () => new Promise((resolve) => { setImmediate(resolve); });

function errorFields(err) {
  if (!err) return null;
  const shown = { message: err.message.split(ROOT + '/').join('') };
  for (const field of ['code', 'errno', 'syscall', 'path', 'dest', 'file']) {
    if (err[field] !== undefined) shown[field] = typeof err[field] === 'string' ? relative(err[field]) : err[field];
  }
  return shown;
}

function pick(object, names) {
  return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]));
}

async function run(scenario) {
  const world = new World(scenario);
  const api = apis[scenario.api][scenario.version](world, scenario);
  const { steps } = scenario;
  const results = [];
  const taken = [];
  const shared = new Map();
  let next = 0;
  let truncated;
  let ended = false;

  const end = (why) => { ended = true; truncated = truncated || why; };

  function optionsOf({ options, options_id: id }) {
    const copy = options && JSON.parse(JSON.stringify(options));
    if (copy && copy.fs) copy.fs = { ...world.fs };
    if (id === undefined) return copy;
    if (!shared.has(id)) shared.set(id, copy || {});
    return shared.get(id);
  }

  // The next step, if it waits for nothing but the one that has just settled.
  function follow() {
    if (!ended && next < steps.length && steps[next].at === undefined) start(next);
  }

  function start(index) {
    const step = steps[index];
    const options = optionsOf(step);
    const began = world.events.length + 1;
    next = index + 1;
    world.trace({ step: index, call: step.call });
    results[index] = { step: index, call: step.call, pending: true };

    function done({ error, locked, release }) {
      if (ended) return;
      const result = { step: index, call: step.call, at: world.time, error: errorFields(error) };
      if (error instanceof RangeError && error.message === OVERFLOW) {
        // How deep the stack was is no behaviour, and what became of the options depends
        // on it. Only the fact is kept.
        world.events.length = began;
        results[index] = result;
        return end(`step ${index} overflowed the stack`);
      }
      if (typeof locked === 'boolean') result.locked = locked;
      if (options && scenario.api === 'lockfile') result.options_after = pick(options, OPTIONS.lockfile);
      results[index] = result;
      if (release) taken[index] = { release, sync: step.call.endsWith('Sync') };
      if (!step.background && next === index + 1) follow();
    }

    const report = (err) => world.trace({ compromised: errorFields(err), of: index });

    if (step.call === 'exit') {
      world.process.emit('exit', 0);
      done({});
      end();
    } else if (step.call === 'release' && !taken[step.of]) {
      done({ error: new Error('no release') });
    } else {
      api.start(step, options, done, report, taken[step.of]);
    }
    if (step.background) follow();
  }

  // One thing at a time: what is due, then a step that is due, then time moves.
  function turn() {
    const due = world.nextDue();
    const stepDue = next < steps.length && (next === 0 || steps[next].at !== undefined) ? steps[next].at || 0 : Infinity;
    const at = Math.max(world.time, Math.min(due, stepDue));
    if (at > world.horizon) return end();
    world.time = at;
    if (due <= at) world.runNext();
    else start(next);
  }

  while (!ended) {
    try {
      turn();
    } catch (err) {
      // Node dies of it, and runs its exit hook on the way.
      world.process.emit('exit', 1);
      end(`uncaught: ${err.message}`);
    }
    await afterMicrotasks();
    if (world.events.length >= MOST_EVENTS) end(`${MOST_EVENTS} events`);
  }

  const { filesystem, epoch } = world;
  const recording = {
    trace: world.events,
    results: results.filter(Boolean),
    disk: Object.fromEntries(filesystem.list().map(([path, { type, to, nlink, mtime }]) => [path, {
      type, ...(type === 'symlink' && { to }), mtime: statMs(mtime) - epoch, ...(type === 'file' && { nlink }),
    }])),
    fds: filesystem.descriptors.size,
  };
  if (truncated) recording.truncated = truncated;
  recording.recorded_with = { node: process.version, package: api.package };
  return recording;
}

module.exports = { run };
