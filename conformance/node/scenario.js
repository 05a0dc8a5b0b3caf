'use strict';

// Checks a scenario against FORMAT.md, so that a misspelt field cannot pass for a
// default. The message says where the fault is.

const apis = require('./apis');
const { ERRORS, SYSCALLS } = require('./syscalls');
const { GRAINS } = require('./times');

const RECORDING = ['trace', 'results', 'disk', 'fds', 'recorded_with', 'truncated'];

const FUNCTIONS = ['lock', 'lockSync', 'unlock', 'unlockSync', 'check', 'checkSync'];

const RETRY = ['retries', 'factor', 'minTimeout', 'maxTimeout', 'randomize', 'forever', 'maxRetryTime'];

const OPTIONS = {
  lockfile: ['wait', 'pollPeriod', 'stale', 'retries', 'retryWait'],
  'proper-lockfile': ['stale', 'update', 'retries', 'realpath', 'lockfilePath', 'fs'],
};

class Invalid extends Error {}

function need(condition, where, what) {
  if (!condition) throw new Invalid(`${where}: ${what}`);
}

const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const isWhole = (v) => Number.isSafeInteger(v);
const isText = (v) => typeof v === 'string' && v !== '';
const isPath = (v) => typeof v === 'string';

// fields: name → test; a name that ends in ! is required.
function fields(value, where, table) {
  need(isObject(value), where, 'is not an object');
  const known = new Map(Object.entries(table).map(([name, test]) => [name.replace('!', ''), test]));
  for (const [name, v] of Object.entries(value)) {
    need(known.has(name), where, `has an unknown field ${JSON.stringify(name)}`);
    need(known.get(name)(v), `${where}.${name}`, `${JSON.stringify(v)} is not allowed`);
  }
  for (const name of Object.keys(table)) {
    need(!name.endsWith('!') || value[name.slice(0, -1)] !== undefined, where, `${name.slice(0, -1)} is missing`);
  }
}

const oneOf = (...values) => (v) => values.includes(v);
const any = () => true;

function checkOptions(options, where, api) {
  for (const [name, value] of Object.entries(options)) {
    need(OPTIONS[api].includes(name), where, `has an unknown option ${JSON.stringify(name)}`);
    if (name === 'fs') need(value === 'own', where, 'fs can only be "own"');
    if (name !== 'retries' || !isObject(value)) continue;
    for (const field of Object.keys(value)) {
      need(RETRY.includes(field), `${where}.retries`, `has an unknown field ${JSON.stringify(field)}`);
    }
    need(!value.randomize, `${where}.retries`, 'randomize cannot be recorded');
  }
}

function checkStep(step, where, { steps, api, index, shared }) {
  fields(step, where, {
    'call!': isText, at: (v) => isWhole(v) && v >= 0, path: isPath, of: isWhole,
    options: isObject, options_id: isText, background: (v) => typeof v === 'boolean',
  });
  const { call, of } = step;
  if (call === 'exit') {
    need(index === steps.length - 1, where, 'exit is the last step');
    return;
  }
  if (call === 'release' && api === 'proper-lockfile') {
    need(of !== undefined && of >= 0 && of < index && /^lock(Sync)?$/.test(steps[of].call), where,
      'of must be the index of an earlier lock or lockSync');
    return;
  }
  need(FUNCTIONS.includes(call), where, `${JSON.stringify(call)} is not a call of ${api}`);
  need(step.path !== undefined, where, 'path is missing');
  need(of === undefined, where, 'of is for release');
  need(!step.options || api !== 'lockfile' || !call.startsWith('unlock'), where, `${call} takes no options`);
  checkOptions(step.options || {}, where, api);
  if (step.options_id === undefined) return;
  need(!(step.options && shared.has(step.options_id)), where, 'the first step of an options_id has its options');
  shared.add(step.options_id);
}

// Throws Invalid.
function check(scenario) {
  need(isObject(scenario), 'scenario', 'is not an object');
  const name = JSON.stringify(scenario.name);
  fields(scenario, name, {
    'name!': isText,
    'covers!': (v) => Array.isArray(v) && v.every(isText),
    'api!': (v) => v in apis,
    'version!': isText,
    epoch: isWhole,
    timestamps: (v) => v in GRAINS,
    filetime: oneOf('ctime', 'mtime'),
    files: isObject, faults: Array.isArray, world: Array.isArray, 'steps!': Array.isArray,
    until: (v) => isWhole(v) && v >= 0,
    ...Object.fromEntries(RECORDING.map((field) => [field, any])),
  });
  const { api, version } = scenario;
  need(version in apis[api], name, `${api} is recorded in ${Object.keys(apis[api]).join(' and ')}, not ${version}`);
  need(!scenario.filetime || api === 'lockfile', name, 'filetime is for lockfile');

  for (const [path, file] of Object.entries(scenario.files || {})) {
    const where = `${name} files[${JSON.stringify(path)}]`;
    need(isText(path) && path.split('/').every((part) => !['', '.', '..'].includes(part)), where, 'is not a plain path');
    fields(file, where, {
      'type!': oneOf('file', 'dir', 'symlink'), to: isText,
      age: Number.isFinite, mtime_age: Number.isFinite, ctime_age: Number.isFinite,
    });
    need((file.type === 'symlink') === (file.to !== undefined), where, 'to is for a symlink, and needed there');
    const parents = path.split('/').slice(0, -1).map((_, i, names) => scenario.files[names.slice(0, i + 1).join('/')]);
    need(parents.every((parent) => !parent || parent.type === 'dir'), where, 'is in something that is no directory');
  }
  (scenario.faults || []).forEach((fault, i) => {
    const where = `${name} faults[${i}]`;
    fields(fault, where, {
      'syscall!': oneOf(...SYSCALLS), path: isText, 'code!': (v) => ERRORS.has(v),
      call: (v) => isWhole(v) && v > 0, from: (v) => isWhole(v) && v > 0, after: (v) => typeof v === 'boolean',
    });
    need(!(fault.call && fault.from), where, 'has both call and from');
  });
  (scenario.world || []).forEach((event, i) => {
    const where = `${name} world[${i}]`;
    fields(event, where, {
      'at!': (v) => isWhole(v) && v >= 0,
      'do!': oneOf('create', 'unlink', 'mkdir', 'rmdir', 'rename', 'touch', 'jump'),
      path: isText, type: oneOf('file', 'dir', 'symlink'), to: isText, skew: isWhole, by: isWhole,
    });
    need((event.do === 'jump') === (event.path === undefined), where, 'path is for all but jump');
    need((event.do === 'jump') === (event.by !== undefined), where, 'by is for jump');
    need((event.do === 'rename' || event.type === 'symlink') === (event.to !== undefined), where,
      'to is for rename and symlinks');
  });
  const shared = new Set();
  scenario.steps.forEach((step, index) => {
    checkStep(step, `${name} steps[${index}]`, { steps: scenario.steps, api, index, shared });
  });
}

// The scenario without a recording's fields.
function input(scenario) {
  return Object.fromEntries(Object.entries(scenario).filter(([field]) => !RECORDING.includes(field)));
}

module.exports = { check, input, Invalid, OPTIONS };
