import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createGateway } from '../../gateway/app/gateway.ts';
import { OpenResources } from '../../gateway/app/open-resources.ts';
import { openPolicySource } from '../../gateway/config/policy-file/policy-source.ts';
import { type Environment, readEnvironment } from '../../gateway/config/settings/environment.ts';
import { VERSION } from '../../gateway/config/shipped-files.ts';
import { createTelemetry } from '../../gateway/telemetry/telemetry.ts';
import { EXIT_FAULT } from '../output/exit-codes.ts';
import { complain, linesIn, say } from '../output/output.ts';
import { ownCommand } from '../output/own-command.ts';
import { endWithGrace } from '../serve/shutdown.ts';
import { demoProxy } from './demo-proxy.ts';

const HOST = '127.0.0.1';
const PROXY_FILES = fileURLToPath(new URL('../../../deploy', import.meta.url));

/** The default settings with free ports; the settings of this shell do not apply. */
const environment: Environment = {
  ...readEnvironment({}),
  port: 0,
  grpcPort: undefined,
  opsPort: 0,
  drainMs: 0,
  logLevel: 'warn',
};

export async function demo({ port }: { port: number }): Promise<void> {
  const { logLevel: level } = environment;
  const telemetry = createTelemetry({ level, version: VERSION, now: Date.now });
  const policies = openPolicySource(environment);
  const resources = new OpenResources();
  resources.add(telemetry, (opened) => opened.close());
  const options = { environment, policies, telemetry, resources, now: Date.now };
  const gateway = await createGateway(options);
  const proxy = resources.add(createServer(), (opened) => {
    opened.close();
    opened.closeAllConnections();
  });
  const app = { drain: gateway.drain, close: () => resources.close() };
  resources.add(endWithGrace(app, environment, telemetry), (ending) => ending.uninstall());
  try {
    const { check, ops } = await gateway.listen();
    proxy.on('request', demoProxy((check as AddressInfo).port, application));
    await once(proxy.listen(port, HOST), 'listening');
    const urlOf = ({ port }: AddressInfo) => `http://${HOST}:${port}`;
    say(linesIn(instructions(urlOf(proxy.address() as AddressInfo), urlOf(ops as AddressInfo))));
  } catch (error) {
    await resources.close();
    const { code, port: refused } = error as NodeJS.ErrnoException & { port?: number };
    if (refused !== port) throw error;
    const why = code === 'EADDRINUSE' ? 'is taken' : `cannot be opened (${code})`;
    complain(`headgate: port ${port} ${why}, choose another with --port`);
    process.exitCode = EXIT_FAULT;
  }
}

const application: RequestListener = (_request, response) => {
  response.setHeader('Content-Type', 'text/plain');
  response.end('hello from the application\n');
};

function instructions(url: string, opsUrl: string): string {
  const headgate = ownCommand();
  return `An application at ${url}, behind a proxy that checks each request with headgate. Type six times:

  curl -i -X POST ${url}/api/auth/login

Five times the application answers, and X-RateLimit-Remaining counts down. The sixth time headgate answers 429.
With -H 'x-api-key: alice' you are another client. That key is not listed in the policy file, so it counts for itself
and for your address: after ten logins, the address gets a 429 whatever key it invents. Other paths have other limits.

  page      ${opsUrl}/ui/ shows who is denied, and why
  why       ${headgate} explain ID --gateway ${opsUrl}, with the decision_id of a 429
  limits    ${environment.policies}
  proxies   ${PROXY_FILES} has the configuration of NGINX, Envoy and other proxies
  next      ${headgate} init writes the files for your proxy; ${headgate} serve runs the gateway alone
  stop      Ctrl+C`;
}
