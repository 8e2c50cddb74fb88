import { stepsOf } from '../../gateway/operations/explain-text.ts';
import { OperationError } from '../../gateway/operations/operation-error.ts';
import { createOperate, type Operate } from '../../gateway/operations/operations.ts';
import { type Mismatch, mismatchesOf } from './compare.ts';
import type { ChangeStep, PolicyTest, SendStep, SettleStep, Step } from './policy-test.ts';
import type { Failure, TestResult } from './result.ts';
import type { WrittenOverride, WrittenSettle } from './step-schema.ts';
import { operatorName, sentRequest } from './test-client.ts';
import { durationText } from './values-schema.ts';
import { VirtualGateway, type VirtualGatewayOptions } from './virtual-gateway.ts';

/** All steps are run, also after one that failed. */
export async function runTest(
  test: PolicyTest,
  options: VirtualGatewayOptions,
): Promise<TestResult> {
  const { name, place, skip, steps } = test;
  const about = { name, place, skip };
  if (skip !== undefined) return { ...about, result: 'skipped', requests: 0, failures: [] };
  const failed = await runSteps(test, options);
  const sent = steps.map((step) => (step.kind === 'send' ? step.times : 0));
  const requests = sent.reduce((sum, times) => sum + times, 0);
  if (failed.length === 0) return { ...about, result: 'passed', requests, failures: [] };
  // In virtual time the same happens again, so the requests that failed can be traced now.
  const traced = new Map(failed.map(({ step, index }) => [step, index]));
  const again = await runSteps(test, { ...options, onTake: () => {} }, traced);
  const failures = again.map(({ failure }) => failure);
  return { ...about, result: 'failed', requests, failures };
}

interface FailedStep {
  readonly step: Step;
  readonly index: number;
  readonly failure: Failure;
}

/** `traced` has the index of the request of a step that is traced. */
async function runSteps(
  { steps }: PolicyTest,
  options: VirtualGatewayOptions,
  traced: ReadonlyMap<Step, number> = new Map(),
): Promise<FailedStep[]> {
  const gateway = new VirtualGateway(options);
  const running: Running = { gateway, traced, tokens: new Map() };
  const failed: FailedStep[] = [];
  try {
    for (const step of steps) {
      const found = await run(step, running);
      if (found !== undefined) failed.push({ step, ...found });
    }
    return failed;
  } finally {
    gateway.close();
  }
}

type Found = Omit<FailedStep, 'step'> | undefined;

interface Running {
  readonly gateway: VirtualGateway;
  /** The index of the request of each step that is traced. */
  readonly traced: ReadonlyMap<Step, number>;
  /** Those of the allowed requests of each step that reserved. */
  readonly tokens: Map<SendStep, string[]>;
}

function run(step: Step, running: Running): Promise<Found> {
  if (step.kind === 'send') return send(step, running);
  if (step.kind === 'settle') return settleEarlier(step, running);
  return applyChange(step, running.gateway);
}

const NOTHING_CAME = { mismatches: [], refusal: undefined, trace: [], answer: undefined };

async function settleEarlier(
  { place, of, atMs, settle }: SettleStep,
  { gateway, tokens }: Running,
): Promise<Found> {
  await gateway.advanceTo(gateway.setting.startMs + atMs);
  const step = `settle of ${settle.of} at ${durationText(atMs)}`;
  const found = await settleAll(tokens.get(of) ?? [], settle, gateway);
  return found && { index: 0, failure: { ...NOTHING_CAME, place, step, mismatches: [found] } };
}

/** What is wrong with the first one that does not end as expected. */
async function settleAll(
  tokens: readonly string[],
  { result, ...outcome }: WrittenSettle,
  gateway: VirtualGateway,
): Promise<Mismatch | undefined> {
  let wrong: string | undefined;
  for (const token of tokens) {
    const verdict = await gateway.settle(token, outcome);
    if (verdict !== result) wrong ??= verdict;
  }
  if (tokens.length === 0) wrong = NOTHING_RESERVED;
  return wrong === undefined ? undefined : { what: 'settle', expected: result, actual: wrong };
}

const NOTHING_RESERVED = 'none (denied, or no limit of the request has reserve or refund)';

async function applyChange(step: ChangeStep, gateway: VirtualGateway): Promise<Found> {
  const { setting } = gateway;
  await gateway.advanceTo(setting.startMs + step.atMs);
  switch (step.kind) {
    case 'store':
      gateway.store.setDown(step.isDown);
      // Outcomes that waited for the store are settled before the next step.
      await new Promise((resolve) => setImmediate(resolve));
      return undefined;
    case 'reload':
      gateway.policies = step.policies;
      return undefined;
    case 'override':
      try {
        const named = (client: string) => operatorName(client, setting, gateway.policies);
        await changeByOperator(step.change, createOperate(gateway.operated()), named);
        return undefined;
      } catch (error) {
        if (!(error instanceof OperationError)) throw error;
        const words = `override at ${durationText(step.atMs)}`;
        const refused = { place: step.place, step: words, refusal: error.message };
        return { index: 0, failure: { ...NOTHING_CAME, ...refused } };
      }
  }
}

/** Sends all requests of the step; the first one that fails is reported. */
async function send(step: SendStep, { gateway, traced, tokens }: Running): Promise<Found> {
  const { line, sender, times, place, settle } = step;
  const { startMs, proxyAddress } = gateway.setting;
  const request = sentRequest(step, gateway.policies, proxyAddress);
  const issued: string[] = [];
  tokens.set(step, issued);
  let found: Found;
  for (let index = 0; index < times; index++) {
    const atMs = step.atMs + index * step.everyMs;
    await gateway.advanceTo(startMs + atMs);
    const { trace, token, ...outcome } = await gateway.decide(request, index === traced.get(step));
    const mismatches = mismatchesOf(step.expect, outcome);
    if (token !== undefined) issued.push(token);
    if (settle !== undefined && outcome.decision.verdict === 'allow') {
      const wrong = await settleAll(token === undefined ? [] : [token], settle, gateway);
      if (wrong !== undefined) mismatches.push(wrong);
    }
    if (mismatches.length === 0) continue;
    const which = times === 1 ? '' : `, request ${index + 1} of ${times}`;
    const words = `${line.method} ${line.url} by ${sender} at ${durationText(atMs)}${which}`;
    const came = { mismatches, trace: trace.flatMap(stepsOf), answer: outcome.answer };
    found ??= { index, failure: { ...NOTHING_CAME, ...came, place, step: words } };
  }
  return found;
}

async function changeByOperator(
  change: WrittenOverride,
  operate: Operate,
  named: (client: string) => string,
): Promise<void> {
  const terms = { for: change.for, reason: 'a policy test' };
  for (const name of ['block', 'exempt'] as const) {
    const client = change[name];
    if (client !== undefined) await operate(name, { client: named(client), ...terms });
  }
  if (change.mode !== undefined) await operate('setMode', { ...change.mode, ...terms });
  for (const name of ['unblock', 'unexempt'] as const) {
    const client = change[name];
    if (client !== undefined) await operate(name, { client: named(client) });
  }
  if (change.restore !== undefined) await operate('restoreMode', { policy: change.restore });
}
