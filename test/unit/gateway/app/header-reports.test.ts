import { expect, test } from 'vitest';
import { headerReports } from '../../../../src/gateway/app/header-reports.ts';
import { DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';

test.each(DIALECTS)('an unseen header of $name has a remedy that exists', (dialect) => {
  const { lines, telemetry } = observedTelemetry();
  const reports = headerReports(telemetry.proxies);
  reports.headerUnseen({ dialect: dialect.name, header: 'x-api-key', requests: 1_000 });
  const [line] = lines();
  expect(line?.event).toBe('header_unseen');
  expect(String(line?.msg).includes(`headgate proxy-config ${dialect.name} `)).toBe(
    dialect.hasProxyConfig,
  );
});

test('a header that has arrived is reported', () => {
  const { lines, telemetry } = observedTelemetry();
  headerReports(telemetry.proxies).headerSeen('nginx', 'x-api-key');
  expect(lines()).toMatchObject([{ event: 'header_seen', dialect: 'nginx', header: 'x-api-key' }]);
});
