import { Argument, Command, InvalidArgumentError } from 'commander';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { readPolicies } from '../../gateway/config/policy-file/read.ts';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { listText } from '../../gateway/operations/texts.ts';
import { commandEnvironment } from '../environment/commands.ts';
import { EXIT_USAGE } from '../output/exit-codes.ts';
import { countUpTo } from '../output/numbers.ts';
import { complain, sayFile } from '../output/output.ts';
import { metadataOf, settlingPolicies } from '../proxy-files/print/client-headers.ts';
import { PROXIES, proxyConfig, usesGrpc } from '../proxy-files/print/proxy-config.ts';
import { type Address, OWN_PORT, readAddress } from '../proxy-files/proxy-address.ts';

interface ProxyConfigFlags {
  readonly policies?: string;
  readonly gateway?: Address;
  readonly upstream?: Address;
  readonly ownPort?: number;
  readonly listen?: number;
  readonly secret?: true;
  readonly include?: true | string;
}

export function proxyConfigCommand(): Command {
  return new Command('proxy-config')
    .description('print the configuration of a proxy, made from the policy file and the settings')
    .addArgument(new Argument('<proxy>', 'name of the proxy').choices(PROXIES))
    .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
    .option(
      '--gateway <address>',
      'address of the gateway, as the proxy reaches it: host:port or unix:/path (HEADGATE_HOST with HEADGATE_PORT or HEADGATE_GRPC_PORT; HEADGATE_LISTEN)',
      readOneGateway,
    )
    .option(
      '--upstream <address>',
      'address of the application, as the proxy reaches it: host:port',
      readAddress,
    )
    .option(...OWN_PORT)
    .option(
      '--listen <port>',
      'port at which clients connect to the proxy (8000)',
      countUpTo(65_535),
    )
    .option(
      '--secret',
      'make the proxy send a secret; the default if HEADGATE_PROXY_SECRET is set; the secret itself is never printed',
    )
    .option(
      '--include [place]',
      'print only the parts that an existing configuration needs, or those for one place (such as http, server or location in NGINX), or another file that the proxy needs',
    )
    .action(print);
}

function readOneGateway(text: string, before: Address | undefined): Address {
  if (before === undefined) return readAddress(text);
  throw new InvalidArgumentError(
    'Name one gateway. For several, write a line for each where the printed file names it.',
  );
}

function print(proxy: string, flags: ProxyConfigFlags, command: Command): void {
  const environment = commandEnvironment(process.env);
  const { found } = readPolicies({
    ...environment,
    policies: flags.policies ?? environment.policies,
  });
  if ('mistakes' in found) throw new ConfigError(found.mistakes);
  const sendsSecret = flags.secret === true || environment.proxySecrets.length > 0;
  try {
    const { text, besides } = proxyConfig({
      proxy,
      policies: found.file,
      gateway: flags.gateway ?? gatewayOf(environment, proxy),
      application: flags.upstream,
      ownPort: flags.ownPort,
      port: flags.listen,
      sendsSecret,
      include: flags.include ?? false,
    });
    sayFile(text);
    for (const name of besides) complain(alsoNeeded(proxy, name, flags));
    const metadata = usesGrpc(proxy) ? [] : metadataOf(found.file);
    if (metadata.length > 0)
      complain(
        `headgate: the policy file reads metadata of ${listText(metadata)}, and no file of this proxy can send it: take envoy-grpc, or let the proxy set a header and name that`,
      );
    const settling = settlingPolicies(found.file);
    if (settling.length > 0)
      complain(
        `headgate: ${listText(settling)} ${settling.length === 1 ? 'charges' : 'charge'} afterwards: have the application or Envoy report outcomes (docs/charging-afterwards.md)`,
      );
    if (sendsSecret && text.includes(PLACEHOLDER))
      complain(`headgate: replace ${PLACEHOLDER} with the value of HEADGATE_PROXY_SECRET`);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    command.error(`error: ${error.message}`, { exitCode: EXIT_USAGE });
  }
}

function alsoNeeded(proxy: string, name: string, { ownPort, listen }: ProxyConfigFlags): string {
  const own = ownPort === undefined ? '' : ` --own-port ${ownPort}`;
  const port = listen === undefined ? own : `${own} --listen ${listen}`;
  return `headgate: the proxy also needs ${name} in the same folder: headgate proxy-config ${proxy}${port} --include ${name} > ${name}`;
}

const PLACEHOLDER = '"the secret"';
const SHIPPED_HOST = '127.0.0.1';
const ALL_INTERFACES = ['0.0.0.0', '::'];

function gatewayOf({ socket, host, port, grpcPort }: Environment, proxy: string): Address {
  const listened = ALL_INTERFACES.includes(host) ? SHIPPED_HOST : host;
  if (!usesGrpc(proxy)) {
    if (socket !== undefined) return { socket };
    if (port !== undefined) return { host: listened, port };
    throw new RangeError('HEADGATE_PORT is off, so this proxy cannot reach the gateway over HTTP');
  }
  if (grpcPort !== undefined) return { host: listened, port: grpcPort };
  throw new RangeError(
    'HEADGATE_GRPC_PORT is off, so this proxy cannot reach the gateway over gRPC',
  );
}
