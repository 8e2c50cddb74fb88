import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { readText } from '../../gateway/config/text-file.ts';
import { commandEnvironment } from '../environment/commands.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_FAULT, EXIT_INTERRUPTED } from '../output/exit-codes.ts';
import { openPrompt, type Prompt, say } from '../output/output.ts';
import { differingFiles, writeFiles } from '../output/write-files.ts';
import { proxyFileNames } from '../proxy-files/print/proxy-files.ts';
import { type Answers, DEFAULT_ANSWERS, type Extra } from '../proxy-files/setup/answers.ts';
import { type SetupFile, setupFiles } from '../proxy-files/setup/setup.ts';
import { initReport } from './init-report.ts';
import {
  askAnswers,
  askToOverwrite,
  type FRONTS,
  type Given,
  withDefaults,
} from './setup-questions.ts';

export interface InitFlags {
  readonly proxy?: string;
  readonly existing?: boolean;
  readonly login?: string | false;
  readonly application?: Answers['application'];
  readonly ownPort?: number;
  readonly behind?: (typeof FRONTS)[number];
  readonly loadBalancer?: readonly string[];
  readonly keys?: boolean;
  readonly redis?: string | false;
  readonly with?: readonly Extra[];
  readonly yes?: true;
  readonly force?: true;
}

const NO_TERMINAL =
  'error: there is no terminal to ask on: say --yes for the defaults, and name what differs, as in headgate init --proxy nginx --application 127.0.0.1:3000 --yes';

export async function init(folder: string, flags: InitFlags, command: Command): Promise<void> {
  const given = givenBy(flags, command);
  const prompt = flags.yes ? undefined : openPrompt();
  if (prompt === undefined && !flags.yes) command.error(NO_TERMINAL);
  const isThere = (proxy: string) => hasConfiguration(folder, proxy);
  try {
    const answers =
      prompt === undefined
        ? withDefaults(given, isThere)
        : await askAnswers(prompt, given, isThere);
    const files = setupFiles(answers);
    if (!flags.force) await protectFiles(folder, files, { prompt, answers });
    await writeFiles(folder, files);
    say(initReport(folder, files, answers));
  } catch (error) {
    if (error instanceof RangeError) command.error(`error: ${error.message}`);
    if ((error as Error).name !== 'AbortError') throw error;
    say('');
    throw new CommandFailed(EXIT_INTERRUPTED, 'nothing was written');
  } finally {
    prompt?.close();
  }
}

function givenBy(flags: InitFlags, command: Command): Given {
  const { yes, force, login, behind, loadBalancer: networks, redis, ...others } = flags;
  if (behind !== undefined && behind !== 'load-balancer' && networks !== undefined)
    command.error(`error: --load-balancer does not fit --behind ${behind}`);
  if (behind === 'load-balancer' && networks === undefined)
    command.error(
      'error: --behind load-balancer needs its addresses, as in --load-balancer 10.1.0.0/16',
    );
  const front = behind === 'cloudflare' ? { kind: behind } : undefined;
  return {
    ...others,
    ...(login !== undefined && { login: login || undefined }),
    ...(redis !== undefined && { redis: redis || undefined }),
    ...(behind !== undefined && { front }),
    ...(networks !== undefined && { front: { kind: 'load-balancer', networks } }),
    ports: portsOfSettings(),
  };
}

/** Port 0 is any free one, which no file can name. */
function portsOfSettings(): Answers['ports'] {
  const { port, grpcPort, opsPort } = commandEnvironment(process.env);
  const { check, grpc, ops } = DEFAULT_ANSWERS.ports;
  return { check: port || check, grpc: grpcPort || grpc, ops: opsPort || ops };
}

async function protectFiles(
  folder: string,
  files: readonly SetupFile[],
  { prompt, answers }: { readonly prompt: Prompt | undefined; readonly answers: Answers },
): Promise<void> {
  const names = await differingFiles(folder, files);
  if (names.length === 0) return;
  if (prompt === undefined) {
    throw new CommandFailed(
      EXIT_FAULT,
      `${names.join(', ')} in ${resolve(folder)}: ${names.length === 1 ? 'exists' : 'exist'} already; nothing was written. Name another folder, ${answers.existing ? '' : "add --existing to write only what your proxy's file needs, "}or add --force to overwrite.`,
    );
  }
  if (!(await askToOverwrite(prompt, names)))
    throw new CommandFailed(EXIT_FAULT, 'nothing was written');
}

function hasConfiguration(folder: string, proxy: string): boolean {
  return proxyFileNames(proxy)
    .filter((name) => !name.startsWith('headgate'))
    .flatMap((name) => [name, name.replace(/\.yaml$/, '.yml')])
    .map((name) => join(folder, name))
    .some((path) => existsSync(path) && !isWritten(path));
}

function isWritten(path: string): boolean {
  try {
    return readText(path).startsWith('# headgate in front of an application');
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}
