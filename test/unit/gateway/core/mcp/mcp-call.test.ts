import { describe, expect, test } from 'vitest';
import { MALFORMED, methodOf, nameOf } from '../../../../../src/gateway/core/mcp/mcp-call.ts';

const CURRENT = { 'mcp-protocol-version': '2026-07-28' };
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('the method', () => {
  test('is what the header says, in a revision whose servers compare it with the body', () => {
    expect(methodOf({ ...CURRENT, 'mcp-method': 'tools/call' }, false)).toBe('tools/call');
    const later = { 'mcp-protocol-version': '2027-01-15', 'mcp-method': 'tools/call' };
    expect(methodOf(later, false)).toBe('tools/call');
  });

  test.each([
    ['no version', {}],
    ['an older one', { 'mcp-protocol-version': '2025-11-25' }],
    ['one that is no date', { 'mcp-protocol-version': 'latest' }],
    ['two', { 'mcp-protocol-version': '2026-07-28, 2025-11-25' }],
    ['two in a list', { 'mcp-protocol-version': ['2026-07-28', '2026-07-28'] }],
  ])('counts as missing with %s, unless the proxy vouches for it', (_, version) => {
    const headers = { ...version, 'mcp-method': 'tools/call' };
    expect(methodOf(headers, false)).toBeUndefined();
    expect(methodOf(headers, true)).toBe('tools/call');
  });

  test.each([{}, { 'mcp-method': '' }])('is missing without a header: %o', (headers) => {
    expect(methodOf({ ...CURRENT, ...headers }, true)).toBeUndefined();
  });

  test('keeps its case', () => {
    expect(methodOf({ ...CURRENT, 'mcp-method': 'Tools/Call' }, false)).toBe('Tools/Call');
  });
});

describe('the name', () => {
  test.each([
    ['as it is', 'search', 'search'],
    ['in base64', base64('search'), 'search'],
    ['of letters beyond ASCII', base64('zoë'), 'zoë'],
    ['with a comma in base64', base64('geo:47,8'), 'geo:47,8'],
    ['with blanks at its ends in base64', base64(' search '), ' search '],
    ['that looks encoded itself', base64(base64('a')), base64('a')],
    ['with a blank inside', 'my search', 'my search'],
  ])('%s', (_, written, name) => {
    expect(nameOf({ 'mcp-name': written })).toBe(name);
  });

  test.each([
    ['two values', 'a, b'],
    ['two values without a blank', 'a,b'],
    ['two values in a list', ['a', 'b']],
    ['two empty values', ['', '']],
    ['an empty value and another one', ', search'],
    ['a blank at the start', ' search'],
    ['a blank at the end', 'search\t'],
    ['letters beyond ASCII', 'zoë'],
    ['a control character', 'sear\x01ch'],
    ['more than 4,096 characters', 'x'.repeat(4_097)],
    ['the mark in upper case', '=?BASE64?c2VhcmNo?='],
    ['another alphabet', '=?base64?-_-_?='],
    ['no padding', '=?base64?c2VhcmNoMQ?='],
    ['a byte order mark, which some servers drop', base64('\ufeffsearch')],
    ['too much padding', '=?base64?c2VhcmNo====?='],
    ['bits after the end', '=?base64?YQ=='.replace('YQ', 'YR').concat('?=')],
    ['a blank inside', '=?base64?c2Vh cmNo?='],
    ['nothing inside', '=?base64??='],
    ['no base64', '=?base64?***?='],
    ['no UTF-8', '=?base64?/w==?='],
  ])('is malformed with %s', (_, written) => {
    expect(nameOf({ 'mcp-name': written })).toBe(MALFORMED);
  });

  test.each([{}, { 'mcp-name': '' }])('is missing without a header: %o', (headers) => {
    expect(nameOf(headers)).toBeUndefined();
  });
});
