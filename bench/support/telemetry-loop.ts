/** What telemetry does for one request, again and again in this process: nothing else runs between, and caches are warm. */
import { createCheck, UNOBSERVED } from '../../src/gateway/core/check.ts';
import type { Decision } from '../../src/gateway/core/counting/decision.ts';
import { NO_OVERRIDES } from '../../src/gateway/core/overrides.ts';
import { createDenials } from '../../src/gateway/denials/denials.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';
import { createTelemetry, type Telemetry } from '../../src/gateway/telemetry/telemetry.ts';
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
    row('`decided`, an allow', ({ report }) => report(allow)),
    row('`decided`, a denial', ({ report }) => report(denial)),
    row('`name`, before a denial', ({ denials }) => denials.name(denial, denied, false)),
    row('`identified`', ({ telemetry }) => telemetry.decisions.identified('ip')),
    row('`unmatched`, where no policy matches', ({ telemetry }) => telemetry.decisions.unmatched()),
  ];
}

interface Reporters {
  readonly telemetry: Telemetry;
  readonly denials: ReturnType<typeof createDenials>;
  /** What a gateway reports once a check is answered. */
  readonly report: (decision: Decision) => void;
}

function reporters(): Reporters {
  const telemetry = createTelemetry({
    level: 'info',
    version: '0',
    now: Date.now,
    destination: { write() {} },
  });
  const { decisions } = telemetry;
  const denials = createDenials({
    now: Date.now,
    idOf: () => undefined,
    writeDenied: decisions.denied,
    writeWouldBeDenied: decisions.wouldBeDenied,
  });
  const report = (decision: Decision) => {
    decisions.decided(decision, 'envoy', 0.05);
    if (decision.denial !== undefined) denials.decided(decision, 'envoy', 0.05);
  };
  return { telemetry, denials, report };
}

function row(name: string, call: (parts: Reporters) => void): Row {
  const parts = reporters();
  const nanos: number[] = [];
  for (let batch = 0; batch <= BATCHES; batch++) {
    const startMs = performance.now();
    for (let i = 0; i < BATCH; i++) call(parts);
    // The first is compiled while it runs.
    if (batch > 0) nanos.push(((performance.now() - startMs) * 1_000_000) / BATCH);
  }
  parts.denials.close();
  void parts.telemetry.close();
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
    observer: UNOBSERVED,
  });
  const set = policySetFrom('{ version: 1, default: { limits: [1/1h] } }');
  const decide = () => check(checkRequest({ client: CLIENT }), set, Date.now()) as Decision;
  const [allow, denial] = [decide(), decide()];
  if (allow.verdict !== 'allow' || denial.verdict !== 'deny') throw new Error('they are no pair');
  return { allow, denial };
}
