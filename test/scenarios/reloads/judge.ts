/** Judges a record of decisions around reloads: every answer was decided by a file that was in force. */
import {
  type Decided,
  isCdnKnown,
  KEPT_LIMIT,
  type Kind,
  PLANS,
  type ReloadRecord,
  type State,
  type Step,
} from './run.ts';

/** What is not as it should be; empty when all is well. */
export function judgeReloads({ steps, decided }: ReloadRecord): string[] {
  const answered = decided.filter(isAnswered);
  const rules: readonly [string, number][] = [
    ['every request is answered', decided.length - answered.length],
    ['one version of the policy file decides', answered.filter(isMixed).length],
    ['what decides was in force', answered.filter((each) => !isInForce(each, steps)).length],
    ['counts of a limit that stays go on', brokenCounts(answered).length],
    ['a limit that is raised admits at once', lateAdmissions(answered).length],
    ['a policy of another name counts anew', brokenNames(answered).length],
    ['every version decides', steps.length - versionsSeen(answered, steps)],
  ];
  return rules.filter(([, offences]) => offences !== 0).map(([rule, n]) => `${rule}: ${n} not`);
}

function isAnswered({ kind, status }: Decided): boolean {
  return status === 200 || status === 429 || (kind === 'cdn' && status === 403);
}

/** What nobody counted shows no number: a blocked client, or one that Redis was not asked about in time. */
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

/** Clients whose admissions are not the first of their limit, each unit of it once. */
function brokenCounts(decided: readonly Decided[]): string[] {
  return broken(byClient(decided, 'kept'), (asked) => {
    const left = asked
      .filter(({ status, isEnforced }) => isEnforced && status === 200)
      .map(({ remaining }) => KEPT_LIMIT - remaining);
    // Redis may have counted what it was given up on.
    const unsure = asked.filter(({ isEnforced }) => !isEnforced).length;
    const used = new Set(left);
    const most = Math.min(asked.length, KEPT_LIMIT);
    return (
      used.size === left.length && left.length >= most - unsure && Math.max(0, ...left) <= most
    );
  });
}

/** Clients that a version denied before it admitted what it has more than the last one that was asked. */
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

/** A limit of one, whose policy has another name in every version: each of them admits one. */
function brokenNames(decided: readonly Decided[]): string[] {
  return broken(byClient(decided, 'refused'), (asked) =>
    byVersion(asked).every(
      (decisions) => decisions.filter(({ status }) => status === 200).length === 1,
    ),
  );
}

/** Oldest first; nothing where Redis was given up on, since nobody knows what it counted. */
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
