/** A proxy or a gateway of this process, whose answers a test writes. */
import { createServer, type IncomingMessage } from 'node:http';
import { vi } from 'vitest';
import { listenLocally } from '../../../support/local-server.ts';

/** Time-outs that were asked for, in milliseconds. On a busy machine an answer may take longer. */
export const timeouts = vi
  .spyOn(AbortSignal, 'timeout')
  .mockImplementation(() => new AbortController().signal);

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Undefined: it closes the connection. `asked` lists what it got: `GET /path`. */
export async function answering(answer: (request: IncomingMessage) => Answer | undefined) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const given = answer(request);
    if (given === undefined) {
      request.socket.destroy();
      return;
    }
    response.sendDate = false;
    response.writeHead(given.status ?? 200, given.headers).end(given.body);
  });
  const local = await listenLocally(server);
  return { ...local, asked, url: `http://127.0.0.1:${local.port}` };
}

export const NO_OUTCOMES = {
  ...{ reservations: new Map<string, number>(), settlements: new Map<string, number>() },
  ...{ channels: new Set<string>(), refusedReports: 0, unknownTokens: 0 },
};

/** The metrics of a gateway of which `doctor` reads some. */
export interface Metrics {
  digests: string[];
  allowed: number;
  denied: number;
  untrusted: number;
  refused: number;
  headers: string[];
  /** Other lines. */
  more: string[];
}

export const metricsWith = (changed: Partial<Metrics> = {}): Metrics => ({
  ...{ digests: ['served'], allowed: 0, denied: 0, untrusted: 0, refused: 0, headers: [] },
  more: [],
  ...changed,
});

export function metricsText(metrics: Metrics): string {
  return [
    '# HELP headgate_decisions_total Decisions.',
    ...metrics.digests.map((digest) => `headgate_config_info{sha256="${digest}"} 1`),
    `headgate_decisions_total{policy="login",verdict="allow",mode="enforce"} ${metrics.allowed}`,
    `headgate_decisions_total{policy="login",verdict="deny",mode="enforce"} ${metrics.denied}`,
    `headgate_untrusted_proxy_requests_total{dialect="nginx"} ${metrics.untrusted}`,
    `headgate_strangers_refused_total ${metrics.refused}`,
    ...metrics.headers.map((name) => `headgate_header_seen{dialect="nginx",header="${name}"} 1`),
    ...metrics.more,
    '',
  ].join('\n');
}
