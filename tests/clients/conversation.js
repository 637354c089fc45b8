// Walks the steps of conversation.json with whatever client a program brings.
const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const { spawn } = require('node:child_process');
const { isDeepStrictEqual } = require('node:util');

const PATIENCE = 20_000;
const CONVERSATION = JSON.parse(fs.readFileSync(path.join(__dirname, 'conversation.json'), 'utf8'));

// Everything that is expected is there; lists are as long as expected.
function fits(found, expected) {
  if (Array.isArray(expected)) {
    return Array.isArray(found) && found.length === expected.length && expected.every((it, i) => fits(found[i], it));
  }
  if (expected !== null && typeof expected === 'object') {
    return found !== null && typeof found === 'object' && Object.keys(expected).every((key) => fits(found[key], expected[key]));
  }
  return isDeepStrictEqual(found, expected);
}

function check(what, found, expected) {
  if (!fits(found, expected)) {
    throw new Error(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
  }
}

const heard = [];
const listeners = new Set();
let served = 0;

// A notification of the host.
exports.hear = (method, params) => {
  heard.push([method, params]);
  listeners.forEach((wake) => wake());
};

async function waitFor(method, params) {
  while (!heard.some((it) => it[0] === method && fits(it[1], params))) {
    await new Promise((wake) => listeners.add(wake));
  }
}

// The host asks, the client answers.
exports.serve = (method, params) => {
  check(method, params, CONVERSATION.serve[method].params);
  served += 1;
  return CONVERSATION.serve[method].result;
};

exports.start = () =>
  spawn(process.env.HOOKWIRE, ['serve', '--isolated', '--hooks', process.env.HOOKS], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });

async function ask(request, step) {
  let result;
  try {
    result = await request(step.request, step.params);
  } catch (error) {
    if (!('error' in step)) throw error;
    return check(step.request, error.code, step.error.code);
  }
  if (!('result' in step)) throw new Error(`${step.request}: expected an error, found ${JSON.stringify(result)}`);
  check(step.request, result, step.result);
}

// `request` gives the result or throws what has the error's `code`.
exports.talk = async (client, host, request, notify) => {
  const watchdog = setTimeout(() => fail(new Error(`nothing more within ${PATIENCE} ms`)), PATIENCE);
  const ended = new Promise((resolve) => host.on('exit', (code, signal) => resolve(code ?? signal)));
  for (const step of CONVERSATION.steps) {
    if ('notify' in step) await notify(step.notify, step.params);
    else if ('edit' in step) fs.renameSync(process.env.EDITED, path.join(process.env.HOOKS, step.edit));
    else if ('heard' in step) await waitFor(step.heard, step.params);
    else await ask(request, step);
  }
  if (served === 0) throw new Error('the host never called');
  const code = await ended;
  if (code !== 0) throw new Error(`the host ended with ${code}`);
  clearTimeout(watchdog);
  const manifest = path.join(process.env.NODE_MODULES, client, 'package.json');
  console.log('ok', client, JSON.parse(fs.readFileSync(manifest, 'utf8')).version);
  process.exit(0);
};

function fail(error) {
  console.error(error);
  process.exit(1);
}

process.on('unhandledRejection', fail);
exports.load = createRequire(path.join(process.env.NODE_MODULES, 'anywhere.js'));
