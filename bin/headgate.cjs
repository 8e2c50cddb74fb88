#!/usr/bin/env node
/**
 * The command. It checks that this Node can run headgate before it loads anything else, so it must parse on every Node
 * since 12: no "node:" imports, no optional chaining.
 */
'use strict';

// biome-ignore lint/style/useNodejsImportProtocol: Node 12 does not know it.
const { existsSync } = require('fs');
// biome-ignore lint/style/useNodejsImportProtocol: Node 12 does not know it.
const { resolve } = require('path');

const ROOT = resolve(__dirname, '..');
// The package has no sources.
const IN_REPOSITORY = existsSync(resolve(ROOT, 'src', 'main.ts'));
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
    'Run "npm ci" there, without --omit=dev and --ignore-scripts: it installs Node 24, which "npm start" then uses.',
    'Or install Node 24 from https://nodejs.org and run the same command again.',
  ]);
}

function failInPackage() {
  fail([
    `headgate needs Node 22.12 or newer, but not 23. ${THIS_NODE}`,
    'Install Node 24 from https://nodejs.org and run the same command again.',
    'Or let npm fetch a Node for headgate, as in: npx -p node@24 headgate --help',
  ]);
}

/** A missing dependency has a remedy; any other error is shown as it is. */
function failToLoad(error) {
  if (IN_REPOSITORY && error.code === 'ERR_MODULE_NOT_FOUND' && /find package/.test(error.message))
    fail([`headgate: ${error.message}`, `Run "npm ci" in ${ROOT} first.`]);
  throw error;
}

if (IN_REPOSITORY) {
  if (!runsSources()) failInRepository();
  import('../src/main.ts').catch(failToLoad);
} else {
  if (!runsPackage()) failInPackage();
  import('../dist/main.js').catch(failToLoad);
}
