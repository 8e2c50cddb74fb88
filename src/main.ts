#!/usr/bin/env node
/** The process: the right Node, then the command line. */

// Older versions cut long header lists short in silence (CVE-2026-58044): what a proxy adds last would be missing.
const OLDEST_NODE = [24, 18, 1] as const;

const running = process.versions.node.split('.').map(Number);
const difference = OLDEST_NODE.map((part, i) => (running[i] ?? 0) - part).find(
  (part) => part !== 0,
);
if ((difference ?? 0) < 0) {
  console.error(
    `headgate needs Node ${OLDEST_NODE.join('.')} or newer, this is ${process.versions.node}. ` +
      'In the repository, "npm ci" installs one and "npm start" uses it.',
  );
  process.exit(1);
}

// Only now: what follows may need what an older Node does not have.
const { run } = await import('./cli/program.ts');
await run(process.argv);
