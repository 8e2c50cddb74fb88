import { type Diagnostic, FileError } from '../../config/diagnostic.ts';
import { RulesBuilder } from './builder.ts';
import type { CompiledRules } from './compiled-rules.ts';
import { Budget, Findings } from './findings.ts';
import type { RuleFile } from './rule.ts';
import { withoutPlaces } from './rule-file.ts';
import { domainShape } from './shape.ts';
import { warnOfRules } from './warnings.ts';

export interface CompileOptions {
  /** Whether several files may have descriptors for one domain. */
  readonly mergeDomains: boolean;
}

export interface ExaminedRules {
  /** Undefined if a file has an error. */
  readonly rules: CompiledRules | undefined;
  readonly files: readonly ExaminedRuleFile[];
}

export interface ExaminedRuleFile {
  readonly name: string;
  readonly limits: number;
  readonly diagnostics: readonly Diagnostic[];
}

/** Throws a FileError with every mistake of all files. */
export function compileRules(files: readonly RuleFile[], options: CompileOptions): CompiledRules {
  const examined = examineRules(files, options);
  if (examined.rules !== undefined) return examined.rules;
  throw new FileError(examined.files.flatMap(({ diagnostics }) => diagnostics.filter(isError)));
}

export function examineRules(
  files: readonly RuleFile[],
  { mergeDomains }: CompileOptions,
): ExaminedRules {
  const budget = new Budget();
  const builder = new RulesBuilder(mergeDomains);
  const read = files.map((file) => {
    const findings = new Findings(file.remarks);
    const isReadable = file.mistakes === undefined;
    const shape = isReadable ? domainShape(file.value, findings, budget) : undefined;
    const isTooLarge = shape === undefined || budget.isSpent;
    const limits = isTooLarge ? 0 : builder.add(shape, findings);
    return { file, findings, shape, limits };
  });
  if (!budget.isSpent) warnOfRules(read);
  const examined = read.map(({ file, findings: { drafts }, limits }) => {
    const placed = file.place?.(drafts) ?? withoutPlaces(drafts, file.name);
    return { name: file.name, limits, diagnostics: [...(file.mistakes ?? []), ...placed] };
  });
  const isValid = examined.every(({ diagnostics }) => !diagnostics.some(isError));
  return { rules: isValid ? builder.rules() : undefined, files: examined };
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}
