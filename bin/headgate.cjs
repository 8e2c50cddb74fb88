#!/usr/bin/env node
/**
 * The command. It checks that this Node can run headgate before it loads anything else, so it must parse on every Node
 * since 12: no "node:" imports, no optional chaining.
 */
'use strict';

// biome-ignore lint/style/useNodejsImportProtocol: Node 12 does not know it.
const { spawn } = require('child_process');
// biome-ignore lint/style/useNodejsImportProtocol: Node 12 does not know it.
const { existsSync } = require('fs');
// biome-ignore lint/style/useNodejsImportProtocol: Node 12 does not know it.
const { resolve } = require('path');

const ROOT = resolve(__dirname, '..');
// The package has no sources.
const IN_REPOSITORY = existsSync(resolve(ROOT, 'src', 'main.ts'));
/** "npm ci" installs it in the repository. */
const OWN_NODE = resolve(ROOT, 'node_modules', 'node', 'bin', 'node');
const [MAJOR, MINOR] = process.versions.node.split('.').map(Number);
const THIS_NODE = `This is Node ${process.versions.node}, ${process.execPath}.`;

/** What the built package runs on: "engines" in package.json says the same. */
function runsPackage() {
  return MAJOR === 22 ? MINOR >= 12 : MAJOR >= 24;
}

function runsSources() {
  return MAJOR >= 24;
}

function fail(lines) {
  console.error(lines.join('\n'));
  process.exit(1);
}

function failInRepository() {
  fail([
    `headgate needs Node 24 or newer to run from its sources in ${ROOT}. ${THIS_NODE}`,
    'Run "npm ci" there, without --omit=dev and --ignore-scripts: it installs Node 24, which this command then uses.',
    'Or install Node 24 from https://nodejs.org and run the same command again.',
  ]);
}

/** As if this command had been started with the Node of the repository. */
function startWithOwnNode() {
  const child = spawn(OWN_NODE, [__filename].concat(process.argv.slice(2)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // A terminal sends Ctrl+C to both.
  process.on('SIGINT', () => {});
  ['SIGTERM', 'SIGHUP', 'SIGUSR2'].forEach((signal) => {
    process.on(signal, () => child.kill(signal));
  });
  child.on('error', (error) => fail([`headgate: ${OWN_NODE} does not start: ${error.message}`]));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function failInPackage() {
  fail([
    `headgate needs Node 22.12 or newer, but not 23. ${THIS_NODE}`,
    'Install Node 24 from https://nodejs.org and run the same command again.',
    'Or let npm fetch a Node for headgate, as in: npx -p node@24 headgate --help',
  ]);
}

/** So that nothing stays behind if the process that started this one is killed. */
function endWithParent() {
  if (!process.channel) return;
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

/** A missing dependency has a remedy; any other error is shown as it is. */
function failToLoad(error) {
  if (IN_REPOSITORY && error.code === 'ERR_MODULE_NOT_FOUND' && /find package/.test(error.message))
    fail([`headgate: ${error.message}`, `Run "npm ci" in ${ROOT} first.`]);
  throw error;
}

if (IN_REPOSITORY) {
  endWithParent();
  if (runsSources()) import('../src/main.ts').catch(failToLoad);
  else if (existsSync(OWN_NODE)) startWithOwnNode();
  else failInRepository();
} else {
  if (!runsPackage()) failInPackage();
  import('../dist/main.js').catch(failToLoad);
}
