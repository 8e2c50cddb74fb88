/** A booted systemd with the files of this machine, whose changes stay in memory. boot-systemd.sh says how. */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '../../support/eventually.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';

const SCRIPT = fileURLToPath(new URL('boot-systemd.sh', import.meta.url));
const INSIDE = ['-m', '-p', '-u', '-i', '-n', '-C', '-r', '-w'];
const HOME = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C' };

/** Namespaces, control groups and mounts take root. */
export const canBootSystemd =
  process.getuid?.() === 0 &&
  existsSync('/lib/systemd/systemd') &&
  spawnSync('unshare', ['--mount', 'true']).status === 0;

interface ScriptResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface BootedSystemd extends AsyncDisposable {
  /** Runs a script of bash as root, which ends at the first command that fails. */
  run(script: string): Promise<ScriptResult>;
}

/**
 * `files`: folders and programs of this machine by their paths inside, which has nothing else of /tmp, /run, /dev and of
 * other file systems than that of /.
 */
export async function bootSystemd(files: Readonly<Record<string, string>>): Promise<BootedSystemd> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-systemd-'));
  const pairs = Object.entries(files).flatMap(([target, source]) => [source, target]);
  const machine = startProcess('unshare', ['--mount', 'bash', SCRIPT, folder, ...pairs]);
  const run = (script: string) => {
    const init = initOf(machine);
    if (init === undefined) throw new Error(`nothing is booted: ${machine.output()}`);
    return runInside(init, script);
  };
  const end = async () => {
    const init = initOf(machine);
    if (init === undefined) await machine.stop('SIGKILL');
    else process.kill(init, 'SIGKILL');
    await machine.exited();
    await removeControlGroups(folder);
    rmSync(folder, { recursive: true });
  };
  const hasBooted = async () =>
    initOf(machine) !== undefined && (await run('systemctl is-system-running --wait')).code === 0;
  try {
    await waitUntil('systemd has booted', hasBooted);
  } catch (error) {
    await end();
    throw new Error(`systemd does not boot: ${machine.output()}`, { cause: error });
  }
  return { run, [Symbol.asyncDispose]: end };
}

/** The child of unshare that is process 1 of its own process tree. Before, the script has other children. */
function initOf({ pid }: RunningProcess): number | undefined {
  try {
    const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    const isInit = /^NSpid:.*\t1$/m.test(readFileSync(`/proc/${child}/status`, 'utf8'));
    return isInit ? Number(child) : undefined;
  } catch {
    // It has ended in the meantime.
    return undefined;
  }
}

function runInside(init: number, script: string): Promise<ScriptResult> {
  return new Promise((resolve) => {
    const args = ['-t', String(init), ...INSIDE, 'bash', '-eu'];
    const child = execFile('nsenter', args, { env: HOME }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
    // It ends without reading while nothing is booted.
    child.stdin?.on('error', () => {});
    child.stdin?.end(script);
  });
}

/** Empty ones stay when their processes end. */
async function removeControlGroups(folder: string): Promise<void> {
  const script =
    'mount -t cgroup2 cgroup2 "$1" && find "$1/$2" -depth -type d -exec rmdir {} + ; umount "$1"';
  const args = ['--mount', 'bash', '-c', script, 'bash', join(folder, 'cgroup'), basename(folder)];
  await startProcess('unshare', args).exited();
}
