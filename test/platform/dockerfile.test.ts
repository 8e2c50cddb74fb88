/** The Dockerfile agrees with what is tested and with the files that start the image, and its reader reads it right. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { BASE_CONFIG } from './support/image/base-image.ts';
import { readDockerfile } from './support/image/dockerfile.ts';
import { configOf } from './support/image/image-config.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const STAGES = readDockerfile(read('Dockerfile'));
const LAST = STAGES.at(-1) ?? { name: undefined, from: '', instructions: [] };
const CONFIG = configOf(LAST, BASE_CONFIG);

describe('the image', () => {
  test('has the Node that the tests run', () => {
    const { node } = JSON.parse(read('package.json')).devDependencies;
    expect(STAGES.map(({ from }) => from)).toEqual([
      `node:${node}-bookworm-slim`,
      `node:${node}-bookworm-slim`,
      'gcr.io/distroless/cc-debian13:nonroot',
    ]);
    expect(read('deploy/compose/compose.yaml')).toContain(`image: node:${node}-bookworm-slim`);
  });

  test('needs no emulation: nothing runs in the stages of the other platform', () => {
    const running = STAGES.filter(({ instructions }) =>
      instructions.some(({ name }) => name === 'RUN'),
    );
    expect(running.map(({ name }) => name)).toEqual(['build']);
    expect(read('Dockerfile')).toContain('FROM --platform=$BUILDPLATFORM ');
  });

  test('has the user, the command and the folder that the manifests use', () => {
    const [user] = CONFIG.user.split(':');
    const manifests = globSync('deploy/{kubernetes,helm}/**/*.{yaml,tpl}', { cwd: ROOT });
    // Each of the three pods names it twice; Envoy and the application have others.
    const users = manifests.flatMap((path) =>
      [...read(path).matchAll(/runAs(?:User|Group): (\d+)/g)].map(([, id]) => id),
    );
    expect(users.filter((id) => id === user).length).toBe(6);
    const commands = manifests.flatMap((path) =>
      [...read(path).matchAll(/exec: \{ command: \[(\w+)/g)].map(([, program]) => program),
    );
    expect(commands.length).toBeGreaterThan(2);
    expect(new Set(commands)).toEqual(new Set(CONFIG.entrypoint));
    expect(CONFIG.env.HEADGATE_POLICIES).toBe(`${CONFIG.workdir}/policies.yaml`);
    expect(read('deploy/kubernetes/base/deployment.yaml')).toContain(
      `HEADGATE_POLICIES, value: ${CONFIG.env.HEADGATE_POLICIES} `,
    );
    expect(read('deploy/compose/compose.yaml')).toContain(
      `test: [CMD, ${CONFIG.healthcheck.join(', ')}]`,
    );
  });
});

describe('the reader of the Dockerfile', () => {
  test('replaces variables as Docker does', () => {
    const text = [
      'ARG A=1',
      'FROM x:$A AS one',
      'ARG A',
      'ENV B="b c" \\',
      '  C=$A',
      `LABEL d="$\{B}-$C"`,
      'RUN echo $HOME',
    ].join('\n');
    expect(readDockerfile(text, { A: '2' })).toEqual([
      {
        name: 'one',
        from: 'x:2',
        instructions: [
          { name: 'ENV', flags: {}, text: 'B="b c"    C=2' },
          { name: 'LABEL', flags: {}, text: 'd="b c-2"' },
          { name: 'RUN', flags: {}, text: 'echo $HOME' },
        ],
      },
    ]);
  });

  test.each([
    ['FROM x\nADD a b', 'Dockerfile: no support for "ADD a b"'],
    ['FROM x\nLABEL a=$B', 'Dockerfile: B is not set in "a=$B"'],
  ])('refuses %j', (text, message) => {
    expect(() => readDockerfile(text)).toThrow(message);
  });

  test('refuses a command that needs a shell', () => {
    const [stage] = readDockerfile('FROM x\nCMD headgate serve');
    expect(() => configOf(stage ?? LAST, BASE_CONFIG)).toThrow(
      'Dockerfile: "headgate serve" needs a shell',
    );
  });
});
