/** Runs one test on a virtual gateway of its own. */
import {
  blockClient,
  exemptClient,
  unblockClient,
  unexemptClient,
} from '../../operations/clients.ts';
import { stepsOf } from '../../operations/explain-text.ts';
import { OperationError } from '../../operations/operation-error.ts';
import { restoreMode, setMode } from '../../operations/policies.ts';
import type { Gateway } from '../../operations/running-gateway.ts';
import { type Mismatch, mismatchesOf } from './compare.ts';
import { durationText } from './duration.ts';
import { operatorName } from './operator-name.ts';
import type { PolicyTest, SendStep, Setting, Step } from './policy-test.ts';
import type { Failure, TestResult } from './result.ts';
import { sentRequest } from './sent-request.ts';
import type { WrittenOverride } from './step-schema.ts';
import { type Outcome, VirtualGateway, type VirtualGatewayOptions } from './virtual-gateway.ts';

/** All steps are run, also after one that failed. */
export async function runTest(
  { name, place, skip, steps }: PolicyTest,
  options: VirtualGatewayOptions,
): Promise<TestResult> {
  const about = { name, place, skip };
  if (skip !== undefined) return { ...about, result: 'skipped', requests: 0, failures: [] };
  const gateway = new VirtualGateway(options);
  try {
    const failures: Failure[] = [];
    for (const step of steps) {
      const failure = await runStep(step, gateway, options.setting);
      if (failure !== undefined) failures.push(failure);
    }
    const sent = steps.map((step) => (step.kind === 'send' ? step.times : 0));
    const requests = sent.reduce((sum, times) => sum + times, 0);
    const result = failures.length > 0 ? 'failed' : 'passed';
    return { ...about, result, requests, failures };
  } finally {
    gateway.close();
  }
}

async function runStep(
  step: Step,
  gateway: VirtualGateway,
  setting: Setting,
): Promise<Failure | undefined> {
  if (step.kind === 'send') return send(step, gateway, setting);
  await gateway.advanceTo(setting.startMs + step.atMs);
  switch (step.kind) {
    case 'store':
      gateway.store.isDown = step.isDown;
      return undefined;
    case 'reload':
      gateway.policies = step.policies;
      return undefined;
    case 'override':
      try {
        const named = (client: string) => operatorName(client, setting, gateway.policies);
        await changeByOperator(step.change, gateway.operated(), named);
        return undefined;
      } catch (error) {
        if (!(error instanceof OperationError)) throw error;
        const words = `override at ${durationText(step.atMs)}`;
        const nothing = { mismatches: [], trace: [], answer: undefined };
        return { place: step.place, step: words, refusal: error.message, ...nothing };
      }
  }
}

/** Sends all requests of the step; the first one that fails is reported. */
async function send(
  step: SendStep,
  gateway: VirtualGateway,
  { startMs, proxyAddress }: Setting,
): Promise<Failure | undefined> {
  const request = sentRequest(step, gateway.policies, proxyAddress);
  let failure: Failure | undefined;
  for (let i = 0; i < step.times; i++) {
    const atMs = step.atMs + i * step.everyMs;
    await gateway.advanceTo(startMs + atMs);
    const outcome = await gateway.decide(request);
    const mismatches = mismatchesOf(step.expect, outcome);
    if (mismatches.length > 0) failure ??= failureOf(step, i, { atMs, outcome, mismatches });
  }
  return failure;
}

interface Failed {
  readonly atMs: number;
  readonly outcome: Outcome;
  readonly mismatches: readonly Mismatch[];
}

function failureOf(
  { line, sender, times, place }: SendStep,
  index: number,
  { atMs, outcome, mismatches }: Failed,
): Failure {
  const which = times === 1 ? '' : `, request ${index + 1} of ${times}`;
  return {
    place,
    step: `${line.method} ${line.url} by ${sender} at ${durationText(atMs)}${which}`,
    mismatches,
    refusal: undefined,
    trace: outcome.trace.flatMap(stepsOf),
    answer: outcome.answer,
  };
}

/** Rejects with an OperationError if a gateway would refuse the change. */
async function changeByOperator(
  change: WrittenOverride,
  gateway: Gateway,
  named: (client: string) => string,
): Promise<void> {
  const { block, exempt, mode, unblock, unexempt, restore } = change;
  const terms = { for: change.for ?? '', reason: 'a policy test' };
  if (block !== undefined) await blockClient(gateway, { client: named(block), ...terms });
  if (exempt !== undefined) await exemptClient(gateway, { client: named(exempt), ...terms });
  if (mode !== undefined) await setMode(gateway, { ...mode, ...terms });
  if (unblock !== undefined) await unblockClient(gateway, { client: named(unblock) });
  if (unexempt !== undefined) await unexemptClient(gateway, { client: named(unexempt) });
  if (restore !== undefined) await restoreMode(gateway, { policy: restore });
}
