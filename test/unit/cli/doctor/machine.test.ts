import { afterEach, expect, test, vi } from 'vitest';
import { machineFindings } from '../../../../src/cli/doctor/machine.ts';

afterEach(() => vi.restoreAllMocks());

function findings(report: object): string[] {
  vi.spyOn(process.report, 'getReport').mockReturnValue(report);
  return machineFindings().map(({ rule, file, message }) => `${file} ${rule}: ${message}`);
}

const NODE = `Node node: ${process.versions.node}, ${process.execPath}`;
const withLimit = (soft: unknown) => ({ userLimits: { open_files: { soft } } });

test.each([
  [4_096, 'open files open-files: 4096 of them at once'],
  [65_536, 'open files open-files: 65536 of them at once'],
  ['unlimited', 'open files open-files: any number of them at once'],
  [4_095, 'open files low-open-files: at most 4095; 4096 or more are needed under load'],
  [0, 'open files low-open-files: at most 0; 4096 or more are needed under load'],
])('a process may open %s files', (soft, finding) => {
  expect(findings(withLimit(soft))).toEqual([NODE, finding]);
});

test.each([[{}], [{ userLimits: {} }], [withLimit(undefined)]])(
  'nothing is said of files where the system does not say: %j',
  (report) => {
    expect(findings(report)).toEqual([NODE]);
  },
);

test('the real report has a limit, and asks no name server', () => {
  expect(machineFindings().map(({ file }) => file)).toEqual(['Node', 'open files']);
  expect(process.report).toMatchObject({ excludeNetwork: true });
});
