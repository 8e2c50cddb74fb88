/**
 * Commands in the root file system of an image, as an engine runs a container that is confined: its user, no
 * capabilities, its own processes, a root that nobody can write; the network is that of this machine.
 */
import { spawnSync } from 'node:child_process';
import type { Image } from './build.ts';

export interface ContainerOptions {
  /** In place of the image's command; undefined: that command. */
  readonly args?: readonly string[];
  /** In place of the image's entry point, as `docker exec` does. */
  readonly program?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Paths of this machine by their paths in the container. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** A command for this machine, with its arguments. */
export function containerCommand(
  { root, config }: Image,
  { args, program, env = {}, mounts = {} }: ContainerOptions,
): [string, string[]] {
  const [uid = '', gid = uid] = config.user.split(':');
  const confined = [
    ...['--ro-bind', root, '/', '--proc', '/proc', '--dev', '/dev'],
    ...Object.entries(mounts).flatMap(([target, source]) => ['--ro-bind', source, target]),
    ...['--unshare-all', '--share-net', '--unshare-user', '--uid', uid, '--gid', gid],
    ...['--cap-drop', 'ALL', '--die-with-parent', '--as-pid-1', '--chdir', config.workdir],
    '--clearenv',
    ...Object.entries({ ...config.env, ...env }).flatMap(([key, value]) => [
      '--setenv',
      key,
      value,
    ]),
    ...['--', ...(program ?? config.entrypoint), ...(args ?? (program ? [] : config.cmd))],
  ];
  return bubblewrap(uid, gid, confined);
}

/** Root gives its rights up: else the user of the container would be root outside, whose files are those of the image. */
function bubblewrap(uid: string, gid: string, args: readonly string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return ['bwrap', [...args]];
  return ['setpriv', ['--reuid', uid, '--regid', gid, '--clear-groups', 'bwrap', ...args]];
}

/** Bubblewrap must be here, and may use user namespaces. */
export const canContain =
  spawnSync(...bubblewrap('65534', '65534', ['--ro-bind', '/', '/', '--unshare-all', 'true']))
    .status === 0;
