/** An application behind a real proxy with a real gateway. */
import { startGateway } from '../../support/gateway.ts';
import type { LocalServer } from '../../support/local-server.ts';
import type { Behind, RunningProxy } from '../../support/proxies.ts';
import { temporaryFile } from '../../support/temporary.ts';

export interface ProxiedApplication<Application> extends AsyncDisposable {
  /** Of the proxy. */
  readonly url: string;
  readonly application: Application;
}

/** `policies` is the text of a policy file. */
export async function startProxiedApplication<Application extends LocalServer>(
  policies: string,
  startApplication: () => Promise<Application>,
  startProxy: (behind: Behind) => Promise<RunningProxy>,
): Promise<ProxiedApplication<Application>> {
  await using started = new AsyncDisposableStack();
  const file = temporaryFile(started, policies);
  const gateway = started.use(
    await startGateway({ HEADGATE_POLICIES: file, HEADGATE_GRPC_PORT: '0' }),
  );
  const application = started.use(await startApplication());
  const { port: headgate, grpcPort: grpc } = gateway;
  const proxy = started.use(await startProxy({ application: application.port, headgate, grpc }));
  const running = started.move();
  return { url: proxy.url, application, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
