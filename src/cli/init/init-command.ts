import { Command, InvalidArgumentError, Option } from 'commander';
import { parseRedisUrl } from '../../gateway/config/settings/redis-url.ts';
import { PROXIES } from '../proxy-files/print/proxy-config.ts';
import { OWN_PORT, readServer } from '../proxy-files/proxy-address.ts';
import { EXTRAS, type Extra } from '../proxy-files/setup/answers.ts';
import { readNetworks } from './networks.ts';
import type { InitFlags } from './run-init.ts';
import { FRONTS, readPath } from './setup-questions.ts';

export function initCommand(): Command {
  return new Command('init')
    .description('write a policy file, its tests and the files of your proxy; asks a few questions')
    .argument('[folder]', 'folder for the files', '.')
    .addOption(new Option('--proxy <name>', 'your proxy').choices(PROXIES))
    .option(
      '--application <address>',
      'address of the application, as the proxy reaches it: host:port',
      (text) => readServer(text),
    )
    .option(...OWN_PORT)
    .option('--existing', 'write only what to add to a configuration that the proxy has')
    .option('--no-existing', 'write a whole configuration for the proxy')
    .option('--login <path>', 'path that clients log in at', (text) => valid(() => readPath(text)))
    .option('--no-login', 'clients log in nowhere')
    .addOption(
      new Option('--behind <what>', 'what clients connect to before the proxy').choices(FRONTS),
    )
    .option(
      '--load-balancer <cidr...>',
      'addresses of the load balancer, as CIDR ranges',
      (text, before: readonly string[] = []) => [...before, ...valid(() => readNetworks(text))],
    )
    .option('--keys', 'clients send API keys in the header x-api-key')
    .option('--no-keys', 'clients send no API keys')
    .option('--redis <url>', 'count in this Redis, which several gateways share', readRedis)
    .option('--no-redis', 'count in memory')
    .addOption(
      new Option('--with <kind>', 'also write a file that runs the gateway; repeatable')
        .choices(EXTRAS)
        .argParser(collectExtras),
    )
    .option('--yes', 'ask nothing, and take the defaults of what is not said')
    .option('--force', 'overwrite files')
    .action(async (folder: string, flags: InitFlags, command: Command) => {
      const { init } = await import('./run-init.ts');
      return init(folder, flags, command);
    });
}

function collectExtras(text: string, before: readonly Extra[] = []): readonly Extra[] {
  const extra = EXTRAS.find((name) => name === text);
  if (extra === undefined) throw new InvalidArgumentError(`It must be ${EXTRAS.join(' or ')}.`);
  return [...new Set([...before, extra])];
}

function readRedis(text: string): string {
  valid(() => parseRedisUrl(text));
  return text;
}

function valid<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}
