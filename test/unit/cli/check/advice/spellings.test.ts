import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  simpleSpellingsOf,
  TRANSFORMATIONS,
} from '../../../../../src/cli/check/advice/spellings.ts';
import { servesPath } from '../../../../support/lenient-servers.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { checkRequest } from '../../../../support/requests.ts';
import { spellingsOf } from '../../../../support/spellings.ts';

const LOGIN = '/api/auth/login';

test('a path has thousands of spellings, and dozens of simple ones', () => {
  expect(spellingsOf(LOGIN).length).toBeGreaterThan(2_000);
  expect(spellingsOf(LOGIN).length).toBeLessThan(6_000);
  expect(simpleSpellingsOf(LOGIN).length).toBeGreaterThan(60);
  expect(simpleSpellingsOf(LOGIN).length).toBeLessThan(180);
});

describe.each([spellingsOf, simpleSpellingsOf])('$name', (spell) => {
  test.each([LOGIN, '/', '/a', '/a/', '/v1/users/42', '/café/100%/a b', '/\ud800'])(
    '%s',
    (path) => {
      const spellings = spell(path);
      expect(spellings.length).toBeGreaterThan(60);
      expect(spell(path)).toEqual(spellings);
      expect(new Set(spellings).size).toBe(spellings.length);
      expect(spellings).not.toContain(path);
      // No CR or LF, which would end the request line, and nothing that is more than a byte.
      expect(spellings.filter((each) => /[\r\n]|[^\0-\xff]/.test(each))).toEqual([]);
      expect(spellings.filter((each) => !/^(\/|[a-z]+:\/)/i.test(each))).toEqual([]);
    },
  );
});

test.each([
  '/API/AUTH/LOGIN',
  '/api/auth/%6cogin',
  '/api//auth//login',
  '/api/./auth/./login',
  '/api/auth/x/../login',
  '/api/auth/x/..;/login',
  '/api%2fauth%2flogin',
  '/api\\auth\\login',
  '/api%c0%afauth%c0%aflogin',
  '/api/auth/login;x=1',
  '/api/auth/login#x',
  '/api/auth/login%00',
  'http://example.com/api/auth/login',
  '//example.com/api/auth/login',
])('%s is a simple spelling', (target) => {
  expect(simpleSpellingsOf(LOGIN)).toContain(target);
});

test.each([
  '/api/auth/x%2f../login',
  '/api/auth/Login;x=1',
  'http://example.com/api/auth/login#x',
  '/api/auth\xc0\xaflogin',
  '/api/auth/x%2f%252e%252e%2flogin',
])('%s is two transformations away', (target) => {
  expect(simpleSpellingsOf(LOGIN)).not.toContain(target);
});

test('every transformation changes something', () => {
  const targets = [LOGIN, '/api%c0%afauth/login'];
  const idle = TRANSFORMATIONS.filter(({ spell }) => {
    return targets.every((target) => spell(target).every((spelling) => spelling === target));
  });
  expect(idle).toEqual([]);
});

describe('the models of lenient servers serve what real ones serve:', () => {
  test.each([
    ['exact', LOGIN],
    ['exact', '/api/auth/login?x'],
    ['whatwg', '/api\\auth/%2e/login#x'],
    ['whatwg', '//example.com/api/auth/login'],
    ['decode-once', '/api%2fauth/%6cogin'],
    ['decode-twice', '/api%252fauth/%256cogin'],
    ['decode-twice', '/api/auth/login%3fx'],
    ['decode-thrice', '/api%25252fauth/login'],
    ['express', '/API/auth/login/'],
    ['tomcat', '/api/auth/x/..;/login;x=1'],
    ['nginx', '//api/x/%2e%2e/auth/login#x'],
    ['go', '/api//auth/x/../login/'],
    ['iis', '/api%c0%afAUTH%u002flogin. .'],
    ['iis', '/api%f0%80%80%afauth./login'],
    ['nfkc', '/api/auth/%ef%bd%8cogin'],
    ['c-string', '/api/auth/login%00.html'],
    ['undecodable', '/api/%ffauth/lo%zzgin%'],
  ])('%s serves %s', (family, target) => {
    expect(servesPath(target, LOGIN)).toContain(family);
  });

  test.each(['/', '/api/auth', '/api/auth/logins', '/x?/api/auth/login', '/api/auth/login/x'])(
    'none of them serves %s',
    (target) => {
      expect(servesPath(target, LOGIN)).toEqual([]);
    },
  );
});

describe('the login policy applies to every target that some server serves as login:', () => {
  const policySet = policySetFrom(`
version: 1
default: { limits: [1000000/1h] }
policies:
  - { name: login, match: { method: POST, path: ${LOGIN} }, limits: [1000000/1h] }
  - { name: strictest, match: { path: /admin }, limits: [1/1h] }
  - { name: api, match: { method: [GET, POST], path: "/api/*" }, limits: [1000000/1min] }
  - { name: everything, match: { method: [GET, POST], path: "/*" }, limits: [1000000/1s] }`);
  const bypass = (target: string): string[] => {
    const families = servesPath(target, LOGIN);
    const request = checkRequest({ method: 'POST', target });
    const policies = policySet.policiesFor(request).map(({ name }) => name);
    const held = families.length === 0 || policies.length === 0 || policies.includes('login');
    return held ? [] : [`${JSON.stringify(target)} by ${families.join(', ')}, charged ${policies}`];
  };

  test('spellings of the corpus', () => {
    expect(spellingsOf(LOGIN).flatMap(bypass)).toEqual([]);
  });

  test('combinations of transformations', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom(...TRANSFORMATIONS), fc.nat(1)), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(steps, (chosen) => {
        const target = chosen.reduce((text, [{ spell }, i]) => spell(text)[i] ?? text, LOGIN);
        expect(bypass(target)).toEqual([]);
      }),
      // One seed: what others find is worth a case of its own above, and not a build that fails now and then.
      { numRuns: 3_000, seed: 20_261_121 },
    );
  });
});
