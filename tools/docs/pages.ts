/** The pages that are made from the program itself, and what makes each. `npm run docs` writes them. */

import { createProgram } from '../../src/cli/program.ts';
import { checkDocument } from '../../src/config/check/rules-document.ts';
import { commandReference } from './commands.ts';
import { configurationReference } from './configuration.ts';
import { logFormatReference } from './log-formats.ts';
import { logReference } from './logs.ts';
import { metricReference } from './metrics.ts';
import { opsApiReference } from './ops-api.ts';

const program = await createProgram();

/** By the name of the page in docs/, without `.md`. */
export const PAGES: Readonly<Record<string, () => string>> = {
  check: checkDocument,
  commands: () => commandReference(program),
  configuration: configurationReference,
  'log-formats': logFormatReference,
  logs: logReference,
  metrics: metricReference,
  'ops-api': opsApiReference,
};

export function pageFile(name: string): URL {
  return new URL(`../../docs/${name}.md`, import.meta.url);
}
