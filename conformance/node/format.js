'use strict';

// JSON for people who read differences: one trace event, result, step or file a line.

// What these hold goes one item a line.
const LISTS = new Set(['trace', 'results', 'disk', 'files', 'faults', 'world', 'steps']);

const isScalar = (value) => typeof value !== 'object' || value === null;

function line(value) {
  if (isScalar(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(line).join(', ')}]`;
  const fields = Object.entries(value).map(([name, v]) => `${JSON.stringify(name)}: ${line(v)}`);
  return fields.length ? `{ ${fields.join(', ')} }` : '{}';
}

function pretty(value, indent = '', name = '', inList = false) {
  const items = isScalar(value) ? [] : Object.values(value);
  if (inList || items.length === 0 || (!LISTS.has(name) && items.every(isScalar))) return line(value);
  const inner = indent + ' ';
  const nested = (v, key) => pretty(v, inner, key, LISTS.has(name));
  const [open, close, lines] = Array.isArray(value)
    ? ['[', ']', value.map((v) => nested(v, ''))]
    : ['{', '}', Object.entries(value).map(([key, v]) => `${JSON.stringify(key)}: ${nested(v, key)}`)];
  return `${open}\n${lines.map((l) => inner + l).join(',\n')}\n${indent}${close}`;
}

module.exports = { line, pretty };
