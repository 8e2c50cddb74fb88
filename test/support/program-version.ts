/** The version of a program, as it prints it. */
import { spawnSync } from 'node:child_process';
import { findProgram, type ProgramName } from './programs.ts';

/** The flag that prints the version. Some programs print it on stderr. */
const VERSION_FLAG: Readonly<Record<string, string>> = {
  nginx: '-v',
  haproxy: '-v',
  caddy: 'version',
  helm: 'version',
  kubectl: 'version',
  kubeconform: '-v',
  tmux: '-V',
};

/** `unknown` if the program prints none. */
export function versionOf(program: ProgramName): string {
  const [name = ''] = program.split('-');
  const flag = VERSION_FLAG[name] ?? '--version';
  const { stdout, stderr } = spawnSync(findProgram(program) ?? name, [flag], { encoding: 'utf8' });
  return /\d+\.\d+(\.\d+)*/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
}
