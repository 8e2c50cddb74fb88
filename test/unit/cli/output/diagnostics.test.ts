/** The outputs of `headgate check`. */
import { describe, expect, test } from 'vitest';
import { DIAGNOSTIC_FORMS, type ExaminedFile } from '../../../../src/cli/output/diagnostics.ts';
import { diagnostic } from '../../../../src/gateway/config/diagnostic.ts';

const about = { file: 'f.yaml', path: 'default', message: 'is wrong' };
const error = diagnostic({
  ...about,
  rule: 'invalid-value',
  place: { line: 2, column: 4 },
  excerpt: { text: 'default: 1', caret: 3 },
});
const whole = diagnostic({ ...about, rule: 'unreadable-file', place: undefined, path: '' });
const warning = diagnostic({ ...about, rule: 'limit-never-binds', place: { line: 3, column: 1 } });
const note = diagnostic({ ...about, rule: 'bucket-bursts', place: { line: 4, column: 1 } });

const INVALID: ExaminedFile = {
  file: 'f.yaml',
  policies: undefined,
  diagnostics: [error, whole, warning],
};
const VALID: ExaminedFile = { file: 'g.yaml', policies: 2, diagnostics: [note] };

test('text has a line for each diagnostic, its excerpt with a caret, and a verdict on each file', () => {
  expect(DIAGNOSTIC_FORMS.text([INVALID, VALID])).toBe(
    [
      'f.yaml:2:4: error invalid-value: default: is wrong',
      '    default: 1',
      '       ^',
      'f.yaml:1:1: error unreadable-file: is wrong',
      'f.yaml:3:1: warning limit-never-binds: default: is wrong',
      'f.yaml: invalid, 2 errors',
      'f.yaml:4:1: info bucket-bursts: default: is wrong',
      'g.yaml: fine, 1 policy and the default',
      '',
    ].join('\n'),
  );
  const one = { ...INVALID, diagnostics: [error] };
  expect(DIAGNOSTIC_FORMS.text([one])).toContain('f.yaml: invalid, 1 error\n');
  const verdict = (policies: number) =>
    DIAGNOSTIC_FORMS.text([{ ...VALID, diagnostics: [], policies }]);
  expect(verdict(1)).toBe('g.yaml: fine, the default alone\n');
  expect(verdict(3)).toBe('g.yaml: fine, 2 policies and the default\n');
});

test('JSON has the fields that programs depend on', () => {
  expect(JSON.parse(DIAGNOSTIC_FORMS.json([INVALID, VALID]))).toEqual({
    files: [
      {
        file: 'f.yaml',
        valid: false,
        policies: null,
        findings: [
          {
            rule: 'invalid-value',
            severity: 'error',
            file: 'f.yaml',
            line: 2,
            column: 4,
            path: 'default',
            message: 'is wrong',
          },
          {
            rule: 'unreadable-file',
            severity: 'error',
            file: 'f.yaml',
            line: 1,
            column: 1,
            path: '',
            message: 'is wrong',
          },
          {
            rule: 'limit-never-binds',
            severity: 'warning',
            file: 'f.yaml',
            line: 3,
            column: 1,
            path: 'default',
            message: 'is wrong',
          },
        ],
      },
      {
        file: 'g.yaml',
        valid: true,
        policies: 2,
        findings: [
          {
            rule: 'bucket-bursts',
            severity: 'info',
            file: 'f.yaml',
            line: 4,
            column: 1,
            path: 'default',
            message: 'is wrong',
          },
        ],
      },
    ],
    errors: 2,
    warnings: 1,
  });
});

test('GitHub gets a workflow command for each diagnostic', () => {
  expect(DIAGNOSTIC_FORMS.github([INVALID, VALID])).toBe(
    [
      '::error file=f.yaml,line=2,col=4,title=invalid-value::default: is wrong',
      '::error file=f.yaml,line=1,col=1,title=unreadable-file::is wrong',
      '::warning file=f.yaml,line=3,col=1,title=limit-never-binds::default: is wrong',
      '::notice file=f.yaml,line=4,col=1,title=bucket-bursts::default: is wrong',
      '',
    ].join('\n'),
  );
});

describe('names and messages that a file chose', () => {
  const hostile = diagnostic({
    rule: 'invalid-value',
    file: 'a,b:c%\n\u202e.yaml',
    place: { line: 1, column: 1 },
    path: '',
    message: '100%\n::error::\u001b[31m',
  });
  const file = { file: hostile.file, policies: undefined, diagnostics: [hostile] };
  test('do not control a terminal', () => {
    for (const output of [DIAGNOSTIC_FORMS.text([file]), DIAGNOSTIC_FORMS.json([file])]) {
      expect(output).not.toMatch(/[^\P{C}\n]/u);
    }
    expect(JSON.parse(DIAGNOSTIC_FORMS.json([file])).files[0].file).toBe(hostile.file);
    expect(DIAGNOSTIC_FORMS.text([file]).split('\n')).toHaveLength(3);
  });
  test('do not add or change a workflow command', () => {
    expect(DIAGNOSTIC_FORMS.github([file])).toBe(
      '::error file=a%2Cb%3Ac%25%0A\u202e.yaml,line=1,col=1,title=invalid-value::100%25\\u{a}::error::\\u{1b}[31m\n',
    );
  });
});
