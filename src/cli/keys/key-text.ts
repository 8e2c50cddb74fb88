/** What the commands say of keys in the store. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import { momentText, plural, shortTime } from '../../gateway/operations/texts.ts';
import { tableOf, toned, untilCell } from '../ops-client/cells.ts';
import type { Line, Toned } from '../output/output.ts';

type Key = Output<'showKeys'>['keys'][number];

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
  const [key = '', ...more] = addedText(made, nowMs);
  return [
    key,
    ...more.slice(0, 3),
    ...others.map((each) => `Until then, the other key is valid too: ${keyText(each, nowMs)}.`),
    ...(removed === 0 ? [] : [`${plural(removed, 'ended key')} removed.`]),
    ...more.slice(3),
  ];
}

export function changedText({ keys, warnings }: Output<'changeKeys'>, nowMs: number): Line[] {
  return [...keys.map((each) => keyText(each, nowMs)), ...warningLines(warnings)];
}

export function revokedText({ revoked, left }: Output<'revokeKeys'>, nowMs: number): Line[] {
  const rest = left === 0 ? [] : [`this id still has ${plural(left, 'key')}`];
  return [
    ...revoked.map((each) => `revoked: ${keyText({ ...each, state: 'valid' }, nowMs)}`),
    'Requests with it count as those of an unlisted key, that is for their address.',
    ...rest,
  ];
}

export function listText({ keys, next, warnings }: Output<'listKeys'>, nowMs: number): Line[] {
  if (keys.length === 0) return ['the store has no key', ...warningLines(warnings)];
  const more = next === undefined ? [] : [`more: headgate keys list --after ${next}`];
  return [...tableText(keys, nowMs), ...more, ...warningLines(warnings)];
}

export function showText({ keys, warnings }: Output<'showKeys'>, nowMs: number): Line[] {
  return [...tableText(keys, nowMs), ...warningLines(warnings)];
}

function tableText(keys: readonly Key[], nowMs: number): Line[] {
  return tableOf(keys, {
    ID: ({ id }) => id,
    SHA256: ({ sha256 }) => sha256.slice(0, SHOWN_DIGITS),
    PLAN: ({ plan = '' }) => plan,
    STATE: ({ state }) => toned(state),
    'ENDS (UTC)': ({ ends }) => (ends === undefined ? '' : untilCell(ends, nowMs)),
    'ADDED (UTC)': ({ added }) => shortTime(added),
    COMMENT: ({ comment = '' }) => comment,
  });
}

/** `id:acme (plan pro), key 3fa4c1d20b77, until 2026-12-31 00:00:00 UTC, in 30 d, blocked` */
function keyText({ id, sha256, plan, ends, state }: Key, nowMs: number): string {
  return [
    plan === undefined ? `id:${id}` : `id:${id} (plan ${plan})`,
    `key ${sha256.slice(0, SHOWN_DIGITS)}`,
    ...(ends === undefined ? [] : [`until ${momentText(ends, nowMs)}`]),
    ...(state === 'valid' ? [] : [state]),
  ].join(', ');
}

export function warningLines(warnings: readonly string[]): Line[] {
  return warnings.map((text) => {
    const warning: Toned = { text: `warning: ${text}`, tone: 'warning' };
    return { spans: [warning] };
  });
}
