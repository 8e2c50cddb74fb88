/** Values from the metrics of a gateway. */
import type { Gateway } from './gateway.ts';
import { call } from './http.ts';

/** The value of a series, named with its labels, or undefined if it is not among the metrics. */
export function seriesIn(metrics: string, name: string): number | undefined {
  const line = metrics.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length));
}

/** The current value of a series; 0 before the gateway reports it. */
export async function metric({ opsUrl }: Pick<Gateway, 'opsUrl'>, name: string): Promise<number> {
  const { body } = await call(opsUrl, '/metrics');
  return seriesIn(body, name) ?? 0;
}
