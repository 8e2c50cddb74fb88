/** The dashboards of deploy/grafana, and the queries that Grafana sends for them. */
import { readdirSync, readFileSync } from 'node:fs';

export const DASHBOARD_FOLDER = new URL('../../../deploy/grafana/', import.meta.url);

interface Query {
  readonly refId: string;
  readonly expr: string;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly datasource: { readonly uid: string };
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly fieldConfig: { readonly defaults: { readonly unit?: string } };
  readonly targets: readonly Query[];
}

export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly links: readonly { readonly url: string }[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
  readonly panels: readonly Panel[];
}

export const DASHBOARDS: readonly Dashboard[] = readdirSync(DASHBOARD_FOLDER)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({
    file,
    ...JSON.parse(readFileSync(new URL(file, DASHBOARD_FOLDER), 'utf8')),
  }));

/** The queries of a panel about all gateways. */
export function queriesOf({ targets }: Panel): string[] {
  return targets.map(({ expr }) =>
    expr
      .replaceAll('$__rate_interval', '10s')
      .replaceAll('$job', '.*')
      .replaceAll('$instance', '.*'),
  );
}
