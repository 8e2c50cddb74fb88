import { expect, test } from 'vitest';
import { checkZone } from '../../../../../src/gateway/config/policy-file/limit-schema.ts';

test.each([
  'UTC',
  'Europe/Zurich',
  'America/Argentina/Buenos_Aires',
  'America/Port-au-Prince',
  'Etc/GMT+3',
  // Names that the database keeps for others.
  'Asia/Kolkata',
  'Asia/Calcutta',
  'US/Eastern',
])('knows %s', (zone) => {
  expect(checkZone(zone)).toBe(zone);
});

test('knows every zone of Intl', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    if (zone.includes('/')) expect(checkZone(zone)).toBe(zone);
  }
});

test.each([
  ['Europe/Zuerich', 'did you mean "Europe/Zurich"?'],
  ['europe/zurich', 'did you mean "Europe/Zurich"?'],
  ['New York', 'did you mean "America/New_York"?'],
  ['tokyo', 'did you mean "Asia/Tokyo"?'],
  ['utc', 'did you mean "UTC"?'],
  ['America/NewYork', 'did you mean "America/New_York"?'],
  // Intl takes abbreviations and offsets, which say nothing about changes of clocks.
  ['PST', 'did you mean "America/Los_Angeles"?'],
  ['+01:00', 'write UTC or an area and a place, as in "Europe/Zurich"'],
  ['', 'write UTC or an area and a place'],
  ['Europe/Atlantis and beyond', 'write UTC or an area and a place'],
  ['Europe/Zurich\n', 'did you mean "Europe/Zurich"?'],
])('refuses "%s" and says what to write', (zone, remedy) => {
  expect(() => checkZone(zone)).toThrow(remedy);
  expect(() => checkZone(zone)).toThrow('is not a time zone');
});
