/** An application behind a real proxy with a real gateway. */
import { startGateway } from '../../support/gateway.ts';
import type { Behind, RunningProxy } from '../../support/proxies.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';

export interface ProxiedApplication extends AsyncDisposable {
  /** Of the proxy. */
  readonly url: string;
  /** Every request that reached the application, in order. */
  readonly seen: Upstream['seen'];
}

/** `policies` is the text of a policy file. */
export async function startProxiedApplication(
  policies: string,
  start: (behind: Behind) => Promise<RunningProxy>,
): Promise<ProxiedApplication> {
  await using started = new AsyncDisposableStack();
  const file = temporaryFile(started, policies);
  const gateway = started.use(
    await startGateway({ HEADGATE_POLICIES: file, HEADGATE_GRPC_PORT: '0' }),
  );
  const upstream = started.use(await startUpstream());
  const { port: headgate, grpcPort: grpc } = gateway;
  const proxy = started.use(await start({ application: upstream.port, headgate, grpc }));
  const running = started.move();
  return {
    url: proxy.url,
    seen: upstream.seen,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
