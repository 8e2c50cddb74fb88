import { describe, expect, test } from 'vitest';
import {
  type Afterwards,
  type Outcome,
  type Refund,
  unitsOf,
} from '../../../../../src/gateway/core/counting/outcome.ts';

const TOKENS: Afterwards = { unit: 'tokens', reserve: 500, unknown: 8_000, refund: undefined };

function refunding(parts: Partial<Refund>, unit?: string): Afterwards {
  const refund = { status: new Set<number>(), headers: new Map(), locations: new Set<string>() };
  return { unit, reserve: undefined, unknown: undefined, refund: { ...refund, ...parts } };
}

const headers = (fields: Record<string, string>): Outcome => ({
  headers: new Map(Object.entries(fields)),
});

const units = (count: number): Outcome => ({ units: new Map([['tokens', count]]) });

describe('the units of an outcome', () => {
  test.each<[string, Outcome, number, number]>([
    ['are those reported', units(812), 500, 812],
    ['may be 0', units(0), 500, 0],
    ['may be above the limit', units(2 ** 53 - 1), 500, 2 ** 53 - 1],
    ['are unknown if they are no whole number', units(0.5), 500, 8_000],
    ['are unknown below 0', units(-1), 500, 8_000],
    ['of another unit are not known', { units: new Map([['images', 1]]) }, 500, 8_000],
    ['of an aborted stream are unknown', { status: 200 }, 500, 8_000],
    ['of nothing at all are unknown', {}, 500, 8_000],
    ['are never below the reservation if unknown', {}, 9_000, 9_000],
  ])('%s', (_, outcome, reserved, expected) => {
    expect(unitsOf(TOKENS, outcome, reserved)).toBe(expected);
  });
  test('stay as reserved without unknown', () => {
    expect(unitsOf({ ...TOKENS, unknown: undefined }, {}, 500)).toBe(500);
  });
  test('stay as taken if the limit counts requests, whatever is reported', () => {
    expect(unitsOf(refunding({ status: new Set([204]) }), units(9), 3)).toBe(3);
  });
});

describe('a refund', () => {
  const byStatus = refunding({ status: new Set([204, 302]) });
  const byHeader = refunding({ headers: new Map([['x-login', 'ok']]) });
  const byLocation = refunding({ locations: new Set(['/account']) });
  const ofHome = refunding({ locations: new Set(['/']) });
  const byAll = refunding({
    status: new Set([204]),
    headers: new Map([['x-login', 'ok']]),
    locations: new Set(['/account']),
  });
  const to = (location: string, status = 302): Outcome => ({ status, ...headers({ location }) });
  test.each<[Afterwards, Outcome]>([
    [byStatus, { status: 204 }],
    [byStatus, { status: 302 }],
    [byHeader, headers({ 'x-login': 'ok' })],
    [byLocation, to('/account')],
    [byLocation, to('/account?welcome=1')],
    [byLocation, to('/account#top')],
    [byLocation, to('https://shop.example/account')],
    [byLocation, to('HTTP://shop.example:8443/account?a=//b')],
    [byLocation, headers({ location: '/account' })],
    [ofHome, to('https://shop.example')],
    [ofHome, to('https://shop.example?welcome')],
    [byAll, { status: 204 }],
    [byAll, { status: 500, ...headers({ 'x-login': 'ok' }) }],
    [byAll, to('/account', 303)],
    [refunding({ status: new Set([204]) }, 'tokens'), { status: 204, ...units(9) }],
  ])('is given: %o %o', (afterwards, outcome) => {
    expect(unitsOf(afterwards, outcome, 5)).toBe(0);
  });
  test.each<[Afterwards, Outcome]>([
    [byStatus, {}],
    [byStatus, { status: 200 }],
    [byHeader, headers({ 'x-login': 'OK' })],
    [byHeader, headers({ 'x-login': ' ok' })],
    [byHeader, headers({ 'x-login': 'ok, ok' })],
    [byHeader, headers({ 'x-login': '' })],
    [byHeader, headers({ 'X-Login': 'ok' })],
    [byHeader, headers({ __proto__: 'ok' })],
    [byLocation, to('/account', 201)],
    [byLocation, to('/account', 200)],
    [byLocation, to('/account/')],
    [byLocation, to('/Account')],
    [byLocation, to('/%61ccount')],
    [byLocation, to('/x/../account')],
    [byLocation, to(' /account')],
    [byLocation, to('/account\n')],
    [byLocation, to('account')],
    [byLocation, to('?/account')],
    [byLocation, to('#/account')],
    [byLocation, to('')],
    [byLocation, to('//evil.example/account')],
    [byLocation, to('///account')],
    [byLocation, to('https:///account')],
    [byLocation, to('https:/account')],
    [byLocation, to('https://shop.example\\/account')],
    [byLocation, to('javascript://shop.example/account')],
    [byLocation, to('/login?next=/account')],
    [byLocation, to('https://shop.example/login?next=https://shop.example/account')],
    [byLocation, to(`${'/'.repeat(100_000)}account`)],
    [byLocation, to(`https://${'a'.repeat(100_000)}`)],
    [ofHome, to('')],
    [ofHome, to('?welcome')],
    [ofHome, to('home')],
  ])('is not given: %o %o', (afterwards, outcome) => {
    expect(unitsOf(afterwards, outcome, 5)).toBe(5);
  });
});
