/** What telemetry does for one request, again and again in this process: nothing else runs between, and caches are warm. */
import { createCheck, NO_EVENTS } from '../../src/core/check.ts';
import type { Decision } from '../../src/core/decision.ts';
import { NO_OVERRIDES } from '../../src/core/overrides.ts';
import { MemoryStore } from '../../src/stores/memory/memory-store.ts';
import { createTelemetry, type Telemetry } from '../../src/telemetry/telemetry.ts';
import { policySetFrom } from '../../test/support/policies.ts';
import { checkRequest, SALTS } from '../../test/support/requests.ts';
import { type Row, spread } from '../../tools/table.ts';

const BATCHES = 20;
const BATCH = 100_000;
const CLIENT = '203.0.113.9';

export function telemetryLoops(): Row[] {
  const { allow, denial } = decisions();
  const denied = denial.denial;
  if (denied === undefined) throw new Error('a denial has a name');
  return [
    row('`decided`, an allow', ({ decided }) => decided(allow, 'envoy', 0.05)),
    row('`decided`, a denial', ({ decided }) => decided(denial, 'envoy', 0.05)),
    row('`nameDenial`, before a denial', ({ nameDenial }) => nameDenial(denial, denied, false)),
    row('`identified`', ({ identified }) => identified('ip')),
    row('`unmatched`, where no policy matches', ({ unmatched }) => unmatched()),
  ];
}

function row(name: string, call: (telemetry: Telemetry) => void): Row {
  const telemetry = createTelemetry({
    level: 'info',
    version: '0',
    now: Date.now,
    destination: { write() {} },
  });
  const nanos: number[] = [];
  for (let batch = 0; batch <= BATCHES; batch++) {
    const startMs = performance.now();
    for (let i = 0; i < BATCH; i++) call(telemetry);
    // The first is compiled while it runs.
    if (batch > 0) nanos.push(((performance.now() - startMs) * 1_000_000) / BATCH);
  }
  telemetry.close();
  return { 'in a loop, caches warm': name, 'ns/call': spread(nanos, 0) };
}

/** Of the core, for the first and the second request of a client. */
function decisions(): { allow: Decision; denial: Decision } {
  const store = new MemoryStore({ now: Date.now, maxKeys: 10 });
  const check = createCheck({
    store,
    local: store,
    salts: { at: () => SALTS },
    overrides: { current: NO_OVERRIDES },
    newId: () => '0f6e2d9c41ab-1',
    events: NO_EVENTS,
  });
  const set = policySetFrom('{ version: 1, default: { limits: [1/1h] } }');
  const decide = () => check(checkRequest({ client: CLIENT }), set, Date.now()) as Decision;
  const [allow, denial] = [decide(), decide()];
  if (allow.verdict !== 'allow' || denial.verdict !== 'deny') throw new Error('they are no pair');
  return { allow, denial };
}
