/** The pages that are made from the program itself, and what makes each. `npm run docs` writes them. */

import { checkDocument } from '../../src/cli/check/advice/rules-document.ts';
import { doctorDocument } from '../../src/cli/doctor/doctor-document.ts';
import { createProgram } from '../../src/cli/program.ts';
import { chartValues } from './chart-values.ts';
import { commandReference } from './commands.ts';
import { configurationReference } from './configuration.ts';
import { logFormatReference } from './log-formats.ts';
import { logReference } from './logs.ts';
import { metricReference } from './metrics.ts';
import { opsApiReference } from './ops-api.ts';

const program = await createProgram();

/** By the name of the page in docs/, without `.md`; `chart-values` is in the folder of the chart. */
export const PAGES: Readonly<Record<string, () => string>> = {
  'chart-values': chartValues,
  check: checkDocument,
  commands: () => commandReference(program),
  configuration: configurationReference,
  doctor: doctorDocument,
  'log-formats': logFormatReference,
  logs: logReference,
  metrics: metricReference,
  'ops-api': opsApiReference,
};

export function pageFile(name: string): URL {
  const path = name === 'chart-values' ? 'deploy/helm/headgate/VALUES.md' : `docs/${name}.md`;
  return new URL(`../../${path}`, import.meta.url);
}
