/** What the commands say of keys in the store. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import { clientText, momentText, plural, shortTime } from '../../gateway/operations/texts.ts';
import { tableOf, toned, untilCell } from '../ops-client/cells.ts';
import type { Line } from '../output/output.ts';

type Key = Output<'listKeys'>['keys'][number];

const SHOWN_DIGITS = 12;

export function addedText({ key, added, warnings }: Output<'addKey'>, nowMs: number): Line[] {
  return [
    'The key. headgate does not show it again:',
    `  ${key}`,
    `${keyText(added, nowMs)}: every gateway knows it within a second.`,
    'Give it to the client, which sends it in the header that identity.api_key.header names.',
    ...warningLines(warnings),
  ];
}

export function rotatedText(made: Output<'rotateKey'>, nowMs: number): Line[] {
  const { others, removed } = made;
  return addedText(made, nowMs).toSpliced(
    3,
    0,
    ...others.map((each) => otherText(each, nowMs)),
    ...(removed === 0 ? [] : [`${plural(removed, 'ended key')} removed.`]),
  );
}

function otherText({ sha256, state, ends }: Key, nowMs: number): string {
  const end = ends === undefined ? '' : ` until ${momentText(ends, nowMs)}`;
  return `The other key, ${sha256.slice(0, SHOWN_DIGITS)}, stays ${state}${end}.`;
}

export function changedText({ keys, warnings }: Output<'changeKeys'>, nowMs: number): Line[] {
  return [...keys.map((each) => keyText(each, nowMs)), ...warningLines(warnings)];
}

export function revokedText({ revoked, left }: Output<'revokeKeys'>, nowMs: number): Line[] {
  return [
    ...revoked.map((each) => `revoked: ${keyText({ ...each, state: 'valid' }, nowMs)}`),
    'Requests with it count as those of an unlisted key, that is for their address.',
    ...(left === 0 ? [] : [`this id still has ${plural(left, 'key')}`]),
  ];
}

export function listText({ keys, next, warnings }: Output<'listKeys'>, nowMs: number): Line[] {
  const rows = tableOf(keys, {
    ID: ({ id }) => id,
    SHA256: ({ sha256 }) => sha256.slice(0, SHOWN_DIGITS),
    PLAN: ({ plan = '' }) => plan,
    STATE: ({ state }) => toned(state),
    'ENDS (UTC)': ({ ends }) => (ends === undefined ? '' : untilCell(ends, nowMs)),
    'ADDED (UTC)': ({ added }) => shortTime(added),
    COMMENT: ({ comment = '' }) => comment,
  });
  return [
    ...(keys.length === 0 ? ['the store has no key'] : rows),
    ...(next === undefined ? [] : [`more: headgate keys list --after ${next}`]),
    ...warningLines(warnings),
  ];
}

/** `id:acme (plan pro), key 3fa4c1d20b77, until 2026-12-31 00:00:00 UTC, in 30 d, blocked` */
function keyText({ id, sha256, plan, ends, state }: Key, nowMs: number): string {
  return [
    clientText({ client: id, client_id: id, plan }),
    `key ${sha256.slice(0, SHOWN_DIGITS)}`,
    ...(ends === undefined ? [] : [`until ${momentText(ends, nowMs)}`]),
    ...(state === 'valid' ? [] : [state]),
  ].join(', ');
}

export function warningLines(warnings: readonly string[]): Line[] {
  return warnings.map((text) => ({ spans: [{ text: `warning: ${text}`, tone: 'warning' }] }));
}
