/** Judges a record of decisions around reloads: every answer was decided by a file that was in force. */
import { isCdnKnown, KEPT_LIMIT, PLANS, type State } from './files.ts';
import type { Decided, Kind } from './requests.ts';
import type { ReloadRecord, Step } from './run.ts';

/** Returns the expectations that were not met. */
export function judgeReloads({ steps, decided }: ReloadRecord): string[] {
  const answered = decided.filter(isAnswered);
  const rules: readonly [string, number][] = [
    ['every request is answered', decided.length - answered.length],
    ['one version of the policy file decides', answered.filter(isMixed).length],
    [
      'the version that decides was in force',
      answered.filter((each) => !isInForce(each, steps)).length,
    ],
    ['a limit that stays keeps its counts', brokenCounts(answered).length],
    ['a limit that is raised admits at once', lateAdmissions(answered).length],
    ['a policy with a new name counts from zero', brokenNames(answered).length],
    ['every version decides', steps.length - versionsSeen(answered, steps)],
  ];
  return rules.filter(([, offences]) => offences !== 0).map(([rule, n]) => `${rule}: ${n} not`);
}

function isAnswered({ kind, status }: Decided): boolean {
  return status === 200 || status === 429 || (kind === 'cdn' && status === 403);
}

/** Answers to blocked clients, and answers without Redis, show no number. */
function isMixed({ policies, status, isEnforced }: Decided): boolean {
  return policies.length !== (status === 403 || !isEnforced ? 0 : 1);
}

function isInForce(decision: Decided, steps: readonly Step[]): boolean {
  const { dueMs, answeredMs } = decision;
  return steps.some(({ state, writtenMs }, i) => {
    const overMs = steps[i + 1]?.confirmedMs ?? Number.POSITIVE_INFINITY;
    return writtenMs <= answeredMs && overMs >= dueMs && isDecidedBy(decision, state);
  });
}

function isDecidedBy({ kind, status, policies, keys }: Decided, state: State): boolean {
  const [number] = policies;
  if (kind === 'cdn' && (status === 403) !== isCdnKnown(state.ranges)) return false;
  if (keys !== undefined && keys !== state.keys % PLANS) return false;
  return number === undefined || number === state.policies;
}

function versionsSeen(decided: readonly Decided[], steps: readonly Step[]): number {
  return steps.filter(({ state, writtenMs }, i) => {
    const overMs = steps[i + 1]?.confirmedMs ?? Number.POSITIVE_INFINITY;
    return decided.some(
      (each) => each.answeredMs >= writtenMs && each.dueMs <= overMs && isDecidedBy(each, state),
    );
  }).length;
}

/** Clients that got a unit of their limit twice, or fewer units than the limit. */
function brokenCounts(decided: readonly Decided[]): string[] {
  return broken(byClient(decided, 'kept'), (asked) => {
    const left = asked
      .filter(({ status, isEnforced }) => isEnforced && status === 200)
      .map(({ remaining }) => KEPT_LIMIT - remaining);
    // Redis may have counted requests that were answered without it.
    const unsure = asked.filter(({ isEnforced }) => !isEnforced).length;
    const used = new Set(left);
    const most = Math.min(asked.length, KEPT_LIMIT);
    return (
      used.size === left.length && left.length >= most - unsure && Math.max(0, ...left) <= most
    );
  });
}

/** Clients that a version denied before it admitted what its limit has more than the version before. */
function lateAdmissions(decided: readonly Decided[]): string[] {
  return broken(byClient(decided, 'raised'), (asked) => {
    let raisedBefore = -1;
    return byVersion(asked).every((decisions) => {
      const raised = (decisions[0]?.policies[0] ?? 0) / 2;
      const admitted = decisions.filter(({ status }) => status === 200);
      const lastMs = Math.max(...admitted.map(({ dueMs }) => dueMs));
      const isAtOnce = decisions.every(
        ({ status, answeredMs }) => status === 200 || answeredMs >= lastMs,
      );
      const isAll = admitted.length === raised - raisedBefore;
      raisedBefore = raised;
      return isAll && isAtOnce;
    });
  });
}

/** The policy has a limit of one and a new name in every version, so each version admits one request. */
function brokenNames(decided: readonly Decided[]): string[] {
  return broken(byClient(decided, 'refused'), (asked) =>
    byVersion(asked).every(
      (decisions) => decisions.filter(({ status }) => status === 200).length === 1,
    ),
  );
}

/** Oldest first. Empty if some answers were without Redis, because it is not known what it counted. */
function byVersion(asked: readonly Decided[]): Decided[][] {
  if (!asked.every(({ isEnforced }) => isEnforced)) return [];
  const versions = Map.groupBy(asked, ({ policies }) => policies[0] ?? 0);
  return [...versions].sort(([a], [b]) => a - b).map(([, decisions]) => decisions);
}

function byClient(decided: readonly Decided[], kind: Kind): Map<string, Decided[]> {
  return Map.groupBy(
    decided.filter((each) => each.kind === kind),
    ({ client }) => client,
  );
}

function broken(
  clients: Map<string, Decided[]>,
  isRight: (asked: readonly Decided[]) => boolean,
): string[] {
  return [...clients].filter(([, asked]) => !isRight(asked)).map(([client]) => client);
}
