/** The workflows: actionlint and shellcheck accept them, and they are what docs/releasing.md says. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';

const { actionlint, shellcheck } = inject('programs');
const FOLDER = fileURLToPath(new URL('../../.github/workflows/', import.meta.url));
const ROOT = dirname(dirname(FOLDER));
const NAMES = readdirSync(FOLDER).sort();

interface Job {
  readonly uses?: string;
  readonly needs?: string | readonly string[];
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> };
  readonly steps?: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Readonly<Record<string, unknown>>;
  }[];
}

const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const jobsOf = (name: string): Readonly<Record<string, Job>> => parse(textOf(name)).jobs;
const runsOf = ({ steps = [] }: Job) => steps.flatMap(({ run }) => run ?? []);

test.skipIf(actionlint === undefined || shellcheck === undefined)('actionlint accepts them', () => {
  expect(NAMES).toEqual(['ci.yml', 'release.yml']);
  const files = NAMES.map((name) => join(FOLDER, name));
  const args = ['-no-color', '-shellcheck', shellcheck ?? '', ...files];
  expect(execFileSync(actionlint ?? '', args, { cwd: ROOT, encoding: 'utf8' })).toBe('');
});

describe.each(NAMES)('%s', (name) => {
  const { permissions, concurrency } = parse(textOf(name));
  const jobs = Object.entries(jobsOf(name));

  test('may only read, unless a job says otherwise, and ends', () => {
    expect(permissions).toEqual({ contents: 'read' });
    expect(concurrency.group).toBeDefined();
    for (const [job, { uses, 'timeout-minutes': minutes }] of jobs)
      if (uses === undefined) expect(minutes, job).toBeLessThanOrEqual(90);
  });

  test('uses actions by commit, leaves no token in the clone, and runs no text of others', () => {
    for (const line of textOf(name).match(/uses: .*/g) ?? [])
      expect(line).toMatch(
        /^uses: (\.\/\.github\/workflows\/ci\.yml|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/,
      );
    for (const [, { steps = [] }] of jobs) {
      for (const step of steps) {
        if (step.uses?.startsWith('actions/checkout@'))
          expect(step.with).toEqual({ 'persist-credentials': false });
        // An expression becomes part of the script, so it would run what a branch is named.
        expect(step.run ?? '').not.toContain('${{');
      }
    }
  });
});

describe('ci.yml', () => {
  const jobs = jobsOf('ci.yml');

  test('runs everything, the package on the Node of "engines", and other servers of Redis', () => {
    expect(runsOf(jobs.all ?? {})).toEqual(['.ci/run']);
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const [oldest, ...lines] = jobs.node?.strategy?.matrix.node ?? [];
    expect(engines.node).toContain(`^${oldest}`);
    expect(lines).toEqual(['22', '24', '26']);
    const servers = jobs.redis?.strategy?.matrix.include as readonly { readonly image: string }[];
    expect(servers.map(({ image }) => image.replace(/\.\d+-.*/, ''))).toEqual([
      'redis:6.2',
      'redis:7.0',
      'redis:7.2',
      'redis:8.2',
      'valkey/valkey:8.0',
    ]);
  });

  test('names tests that exist', () => {
    const commands = Object.values(jobs).flatMap(runsOf).join('\n');
    const groups = [...commands.matchAll(/(test\/\w+)\/\{([^}]+)\}(\.test\.ts)/g)];
    expect(groups).toHaveLength(3);
    for (const [, folder = '', names = '', ending] of groups) {
      const files = readdirSync(join(ROOT, folder));
      for (const each of names.split(',')) expect(files).toContain(`${each}${ending}`);
    }
  });

  test('builds the image for both platforms without pushing it', () => {
    const builds = (jobs.image?.steps ?? []).filter(({ uses }) =>
      uses?.startsWith('docker/build-push-action@'),
    );
    expect(builds[0]?.with).toMatchObject({ platforms: 'linux/amd64,linux/arm64', push: false });
  });
});

describe('release.yml', () => {
  const jobs = jobsOf('release.yml');
  const commands = (job: string) => runsOf(jobs[job] ?? {}).join('\n');

  test('publishes nothing before its check, all of CI, and an approval', () => {
    expect(commands('check')).toContain('node tools/release-check.ts "$GITHUB_REF_NAME"');
    expect(jobs.ci).toMatchObject({ needs: 'check', uses: './.github/workflows/ci.yml' });
    for (const job of ['npm', 'image']) {
      expect(jobs[job]?.needs).toEqual(expect.arrayContaining(['check', 'ci']));
      expect(jobs[job]?.environment).toBe('release');
    }
    expect(jobs.chart?.needs).toContain('image');
    expect(jobs.release?.needs).toEqual(['check', 'npm', 'image', 'chart']);
  });

  test('publishes package, image, chart and release, each with what proves its origin', () => {
    expect(commands('npm')).toMatch(/npm publish .*--provenance --access public/);
    const build = jobs.image?.steps?.find(({ uses }) => uses?.startsWith('docker/build-push'));
    expect(build?.with).toMatchObject({
      platforms: 'linux/amd64,linux/arm64',
      provenance: 'mode=max',
      sbom: true,
    });
    const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
    for (const [, name] of String(build?.with?.['build-args']).matchAll(/^(\w+)=/gm))
      expect(text).toMatch(new RegExp(`^ARG ${name}=`, 'm'));
    expect(commands('chart')).toContain('oci://ghcr.io/headgate/charts');
    expect(commands('package')).toContain('sha256sum -- * > SHA256SUMS');
    expect(commands('release')).toContain('gh release create');
    for (const job of ['package', 'image'])
      expect(jobs[job]?.permissions).toMatchObject({ 'id-token': 'write', attestations: 'write' });
  });
});
